#include "process_group.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>

#include "backends/plugin.hpp"
#include "stage/result_bytes.hpp"
#include <unistd.h>

namespace ppsim::runtime {

namespace {

/// The same string for processes that can observe each other: on one machine since its start, and in one container.
/// Empty if the system does not report it.
std::string processes_counted_with() {
  std::ifstream boot{"/proc/sys/kernel/random/boot_id"};
  std::string machine;
  std::error_code unknown;
  const std::string container = std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
  return std::getline(boot, machine) && !container.empty() ? machine + " " + container : "";
}

/// The most time between processes at their start and their end, when rank 0 may still write files.
constexpr Duration meeting_limit = std::chrono::seconds{60};

const MpiPlugin& plugin() {
  return load_plugin<MpiPlugin>("ppsim_mpi", "ppsim_mpi_plugin",
                                "apt install openmpi-bin libopenmpi-dev, and build again: tools/build plugins");
}

std::unique_ptr<ProcessGroup>& the_group() {
  static std::unique_ptr<ProcessGroup> group;
  return group;
}

} // namespace

std::string mpi_library() {
  return plugin().mpi_name();
}

ProcessGroup& ProcessGroup::get() {
  if (!the_group()) the_group().reset(new ProcessGroup);
  return *the_group();
}

ProcessGroup* ProcessGroup::started() {
  return the_group().get();
}

ProcessGroup::ProcessGroup() : library_{plugin().mpi_name()}, guard_{std::make_unique<Guard>()} {
  guard_->set_limit(meeting_limit, fmt::format("not all processes have started within {} s",
                                               std::chrono::ceil<std::chrono::seconds>(meeting_limit).count()));
  try {
    messages_ = plugin().start();
    learn_peers();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::failed, {"MPI", error.what(), ""});
  }
  guard_->set_end([this] { messages_->abort(static_cast<int>(ExitCode::failed)); });
  guard_->lift_limit();
  failures_ = std::make_unique<Failures>(*messages_);
}

/// Without finish(), the process ends because of an error and must not wait for others.
ProcessGroup::~ProcessGroup() {
  static_cast<void>(failures_.release());
  static_cast<void>(messages_.release());
}

void ProcessGroup::learn_peers() {
  const GiveUp never = [] {}; // the guard's limit ends it
  ByteWriter mine;
  mine.put(messages_->host(), processes_counted_with(), std::int64_t{getpid()});
  Message all;
  for (const Message& one : gather(*messages_, mine.bytes(), never)) all.insert(all.end(), one.begin(), one.end());
  const Message bytes = broadcast(*messages_, std::move(all), never);
  ByteReader reader{bytes};
  peers_.resize(size());
  for (Peer& peer : peers_) reader.get(peer.host, peer.processes, peer.pid);
}

bool ProcessGroup::can_see(const Peer& peer) const {
  return !peer.processes.empty() && peer.processes == peers_[rank()].processes;
}

bool ProcessGroup::sees_gone(std::size_t rank) const {
  const Peer& peer = peers_[rank];
  return can_see(peer) && kill(static_cast<pid_t>(peer.pid), 0) != 0 && errno == ESRCH;
}

void ProcessGroup::lose(std::size_t lost) {
  lost_.push_back(lost);
  if (is_leader() && !sees_gone(lost))
    std::fputs(fmt::format("ppsim: note: rank {} does not answer; other ranks do its work\n", lost).c_str(), stderr);
}

std::size_t ProcessGroup::hosts() const {
  std::set<std::string> hosts;
  for (const Peer& peer : peers_) hosts.insert(peer.host);
  return hosts.size();
}

void ProcessGroup::set_doing(std::function<std::string()> doing) {
  guard_->set_last_words(nullptr); // from here on nothing calls doing_
  doing_ = std::move(doing);
  if (doing_) guard_->set_last_words([this](bool is_ending) { return last_words(is_ending); });
}

/// mpirun ends all processes with SIGTERM after one is lost, and names it. One process per host adds what the others
/// waited for: the lowest remaining one, as soon as it detects the loss, because mpirun's SIGKILL can follow the
/// SIGTERM within a millisecond; or rank 0 if no loss is detected. At a SIGTERM, processes that got it first may also
/// have ended, so a process that has already reported a loss stays silent. Rank 0 reports what it has stopped all
/// processes for.
std::optional<std::string> ProcessGroup::last_words(bool is_ending) {
  if (!is_leader() && failures_->heard()) return std::nullopt;
  if (is_ending && loss_seen_) return std::nullopt;
  std::vector<std::string> gone;
  bool is_lowest = true;
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    if (peer == rank() || !can_see(peers_[peer])) continue;
    if (sees_gone(peer))
      gone.push_back(fmt::format("rank {}", peer));
    else if (peer < rank())
      is_lowest = false;
  }
  loss_seen_ = loss_seen_ || !gone.empty();
  if (!is_lowest || (gone.empty() && (!is_ending || !is_leader()))) return std::nullopt;
  const std::string because = gone.empty()
                                  ? "ended from outside by SIGTERM"
                                  : fmt::format("{} {} gone", joined(gone, ", "), gone.size() == 1 ? "is" : "are");
  return fmt::format("rank {}: {}; {}", rank(), because, doing_());
}

void ProcessGroup::finish(ExitCode status) {
  guard_->set_limit(meeting_limit, fmt::format("rank {}: the other processes have not ended within {} s", rank(),
                                               std::chrono::ceil<std::chrono::seconds>(meeting_limit).count()));
  if (!lost_.empty()) return leave(status);
  failures_.reset();
  barrier(
      *messages_, [] {}, Wait::patient);
  guard_->set_end(nullptr); // if MPI does not end in time, the guard must not call it: the process ends by itself
  messages_.reset();
  guard_.reset();
}

/// Exits without MPI_Finalize, which waits for lost processes. By default mpirun ends all as soon as one exits like
/// that, so rank 0 exits first.
void ProcessGroup::leave(ExitCode status) {
  using namespace std::chrono_literals;
  guard_->be_quiet();
  const auto word = std::make_shared<char>();
  if (!is_leader()) {
    Pending::receive(*messages_, word.get(), sizeof *word, 0, number(Tag::exchange), word).wait([] {}, Wait::patient);
    return;
  }
  std::this_thread::sleep_for(1s); // the last output is on its way through mpirun
  if (!std::ranges::all_of(lost_, [this](std::size_t rank) { return sees_gone(rank); })) abort(status);
  std::vector<Pending> sent;
  for (std::size_t rank = 1; rank < size(); ++rank)
    if (std::ranges::find(lost_, rank) == lost_.end())
      sent.push_back(Pending::send(*messages_, word.get(), sizeof *word, rank, number(Tag::exchange), word));
  const auto end = std::chrono::steady_clock::now() + 1s;
  wait_until([&] { return std::ranges::all_of(sent, &Pending::test) || std::chrono::steady_clock::now() > end; },
             [] {});
}

bool ProcessGroup::was_left_behind() const {
  std::this_thread::sleep_for(2 * Guard::look_every);
  return guard_->stood_still();
}

void ProcessGroup::abort(ExitCode status) noexcept {
  guard_->be_quiet();
  std::fflush(stderr);
  messages_->abort(static_cast<int>(status));
  std::_Exit(static_cast<int>(status)); // unreachable; g++ 12 cannot see that for a virtual function
}

void ProcessGroup::abort_with(const std::string& what) noexcept {
  std::fputs(("ppsim: error: " + what + "\n").c_str(), stderr);
  abort(ExitCode::failed);
}

void defer_error_to_first(ExitCode status) {
  if (status == ExitCode::failed && ProcessGroup::started() != nullptr) {
    // A failure in a run has already been agreed on (Failures).
    if (!ProcessGroup::started()->was_left_behind()) return;
  } else if (prints_for_all())
    return;
  std::this_thread::sleep_for(std::chrono::seconds{5}); // mpirun takes up to 3 s
}

void finish_processes(ExitCode status) {
  if (!the_group()) return;
  the_group()->finish(status);
  the_group().reset();
}

void abort_processes(ExitCode status) noexcept {
  if (ProcessGroup* const group = ProcessGroup::started()) group->abort(status);
}

} // namespace ppsim::runtime
