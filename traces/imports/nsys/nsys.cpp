// Nsight Systems, exported to SQLite, as an import format: tasks and transfers from NVTX ranges and the kernels
// launched in them. Assigns threads of files to stages and replicas, and finds when tasks ran.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "imports/import_list.hpp"
#include "imports/recorded.hpp"
#include "nsys_file.hpp"

namespace ppsim::traces {
namespace {

using Kind = PpAction::Kind;

constexpr std::string_view how_to_profile = "run with 'nsys profile --trace=cuda,nvtx' and NVTX ranges named as in "
                                            "PyTorch, PP:0F3, then 'nsys export --type sqlite'";

/// One range with its step, on the common clock.
struct Done {
  const NsysRange* range = nullptr;
  Task task{};
  std::int64_t step = 0;
  std::int64_t shift = 0; ///< to be added to times
};

/// The files, for errors.
std::string name_of(const auto& files) {
  return files.size() == 1 ? files.front().name : fmt::format("{} files", files.size());
}

/// The ranges of one thread.
struct Rank {
  std::vector<Done> done;
  std::set<std::uint32_t> chunks;
  std::uint32_t stage = 0;
  std::uint32_t replica = 0;
};

/// Returns the number of dropped ranges, of a step that began before the recording.
std::size_t number_steps(Rank& rank) {
  std::vector<PpAction> actions;
  actions.reserve(rank.done.size());
  for (const Done& done : rank.done) actions.push_back(done.range->action);
  const ActionSteps found = steps_of(actions);
  for (std::size_t i = 0; i < rank.done.size(); ++i) rank.done[i].step = found.steps[i];
  rank.done.erase(rank.done.begin(), rank.done.begin() + static_cast<std::ptrdiff_t>(found.cut));
  return found.cut;
}

/// Timers have no microbatch: the first forward of a step is that of microbatch 0. A step ends with its optimizer.
void number_timers(Rank& rank) {
  std::int64_t step = 0;
  std::size_t forwards = 0;
  std::size_t backwards = 0;
  for (Done& done : rank.done) {
    done.step = step;
    if (done.range->action.kind == Kind::optimizer) {
      ++step;
      forwards = 0;
      backwards = 0;
      continue;
    }
    const bool forward = done.task.pass == Pass::forward;
    done.task = make_task(done.task.pass, rank.stage, forward ? forwards++ : backwards++);
  }
}

class Collector {
public:
  Collector(std::vector<NsysFile> files, const ImportOptions& options) : files_{std::move(files)}, options_{options} {}

  Recorded collect() {
    find_clocks();
    const bool annotated = std::ranges::any_of(files_, [](const NsysFile& file) {
      return std::ranges::any_of(file.ranges,
                                 [](const NsysRange& r) { return !r.is_timer && r.action.kind == Kind::task; });
    });
    find_ranks(annotated);
    if (ranks_.empty()) refuse("has no NVTX range of a task", std::string{how_to_profile});
    if (annotated)
      place_by_chunks();
    else
      place_by_order();
    for (const Rank& rank : ranks_) take(rank);
    finish();
    return std::move(recorded_);
  }

private:
  [[noreturn]] void refuse(std::string what, std::string hint) const {
    throw Error{ExitCode::bad_input, {name_of(files_), std::move(what), std::move(hint)}};
  }

  /// Times of a file count from the start of its session.
  void find_clocks() {
    shifts_.assign(files_.size(), 0);
    bool known = true;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    for (const NsysFile& file : files_) {
      known = known && file.utc.value_or(-1) >= 0;
      first = std::min(first, file.utc.value_or(0));
      last = std::max(last, file.utc.value_or(0));
    }
    constexpr std::int64_t longest = std::int64_t{1} << 50U; // 13 days: longer than any session of one run
    known = known && last - first < longest;
    std::set<std::string> hosts;
    for (const NsysFile& file : files_) hosts.insert(file.host);
    const bool unknown_host = hosts.erase("") > 0;
    recorded_.one_clock = files_.size() == 1 || (known && hosts.size() == 1 && !unknown_host);
    if (files_.size() > 1 && unknown_host)
      recorded_.notes.emplace_back("not all files name their host, so clocks are taken as different");
    if (!known) return;
    for (std::size_t i = 0; i < files_.size(); ++i) shifts_[i] = *files_[i].utc - first;
    if (hosts.size() > 1)
      recorded_.notes.push_back(fmt::format("files are from {} hosts, whose clocks differ", hosts.size()));
  }

  void find_ranks(bool annotated) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      for (const auto& [why, count] : files_[i].dropped) recorded_.dropped[why] += count;
      for (std::span<const NsysRange> rest{files_[i].ranges}; !rest.empty();) {
        const auto other =
            std::ranges::find_if(rest, [&](const NsysRange& range) { return range.thread != rest.front().thread; });
        const auto of_thread = static_cast<std::size_t>(other - rest.begin());
        add_rank(rest.first(of_thread), shifts_[i], annotated);
        rest = rest.subspan(of_thread);
      }
    }
  }

  /// A rank is a thread with tasks.
  void add_rank(std::span<const NsysRange> ranges, std::int64_t shift, bool annotated) {
    Rank rank;
    for (const NsysRange& range : ranges) {
      if (range.is_timer && annotated) {
        ++recorded_.dropped["timers in addition to PP: ranges"];
        continue;
      }
      rank.done.push_back({&range, range.action.task, 0, shift});
      if (range.action.kind == Kind::task) rank.chunks.insert(range.action.task.chunk_index);
    }
    if (!rank.chunks.empty())
      ranks_.push_back(std::move(rank));
    else if (!rank.done.empty())
      recorded_.dropped["ranges of threads that have no tasks"] += rank.done.size();
  }

  /// Ranks that run the same chunks are one stage of several replicas; stages are sorted by their chunks.
  void place_by_chunks() {
    std::map<std::set<std::uint32_t>, std::uint32_t> stages;
    for (const Rank& rank : ranks_) stages.emplace(rank.chunks, 0);
    std::set<std::uint32_t> placed;
    std::uint32_t stage = 0;
    for (auto& [chunks, number] : stages) {
      for (const std::uint32_t chunk : chunks)
        if (!placed.insert(chunk).second)
          refuse(fmt::format("chunk {} ran on ranks whose other chunks differ", chunk),
                 "give files of one run only; ranks may share all chunks or none");
      number = stage++;
    }
    if (options_.stages && *options_.stages != stages.size())
      refuse(fmt::format("the ranks have {} different sets of chunks, but --stages says {}", stages.size(),
                         *options_.stages),
             "give the files of all stages, or leave --stages out");
    for (const Rank& rank : ranks_)
      if (options_.vpp && rank.chunks.size() != *options_.vpp)
        refuse(fmt::format("a rank runs {} chunks, but --vpp says {}", rank.chunks.size(), *options_.vpp),
               "leave --vpp out");
    std::map<std::uint32_t, std::uint32_t> replicas;
    for (Rank& rank : ranks_) {
      rank.stage = stages.at(rank.chunks);
      rank.replica = replicas[rank.stage]++;
      recorded_.dropped[std::string{begun_before}] += number_steps(rank);
    }
    if (ranks_.size() > stages.size())
      recorded_.notes.emplace_back(
          "ranks with the same chunks were taken as data-parallel replicas, in the order of the files");
  }

  /// The stage follows only from the order: as in Megatron-LM, ranks of one stage are consecutive.
  void place_by_order() {
    if (options_.vpp.value_or(1) != 1)
      refuse("timers do not say which chunk a pass belongs to", "use NVTX ranges like PP:0F3, or --vpp 1");
    const std::size_t stages = options_.stages.value_or(ranks_.size());
    if (stages == 0 || ranks_.size() % stages != 0)
      refuse(fmt::format("{} ranks are not a multiple of the {} of --stages", ranks_.size(), stages),
             "give the files of all ranks, each once");
    if (ranks_.size() > most_named_chunks) refuse(fmt::format("has {} ranks", ranks_.size()), "give fewer");
    const std::size_t replicas = ranks_.size() / stages;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].stage = static_cast<std::uint32_t>(i / replicas);
      ranks_[i].replica = static_cast<std::uint32_t>(i % replicas);
      number_timers(ranks_[i]);
      keep_whole_steps(ranks_[i]);
    }
    recorded_.notes.emplace_back("timers say neither stage nor microbatch: stages are in the order of the files, "
                                 "microbatches in the order in which they ran");
  }

  /// Ranges after the last optimizer belong to an incomplete step; without an optimizer, steps cannot be separated.
  void keep_whole_steps(Rank& rank) {
    const auto is_optimizer = [](const Done& done) { return done.range->action.kind == Kind::optimizer; };
    const auto last = std::ranges::find_if(rank.done.rbegin(), rank.done.rend(), is_optimizer);
    recorded_.dropped["timers of steps whose optimizer was not recorded"] +=
        static_cast<std::size_t>(last - rank.done.rbegin());
    rank.done.erase(last.base(), rank.done.end());
  }

  /// When each range ran on the device; none if it launched no kernel.
  std::vector<std::optional<Stretch>> device_times(const Rank& rank) {
    MainStream main_stream;
    for (const Done& done : rank.done)
      if (done.range->action.kind == Kind::task) main_stream.add_task(done.range->extents);
    const std::uint64_t stream = main_stream.stream();
    std::vector<std::optional<Stretch>> times;
    ReceivedInputs inputs;
    for (const Done& done : rank.done) {
      const Extents& extents = done.range->extents;
      const bool is_task = done.range->action.kind == Kind::task;
      times.push_back(is_task || extents.empty() ? time_on_device(extents, stream) : std::optional{hull(extents)});
      if (done.range->action.kind == Kind::receive && times.back())
        inputs.add_receive(done.step, done.task, times.back()->end);
    }
    std::vector<TaskTime> tasks;
    for (std::size_t i = 0; i < times.size(); ++i)
      if (const Done& done = rank.done[i]; done.range->action.kind == Kind::task)
        tasks.push_back({done.step, times[i], inputs.of(done.step, done.task)});
    without_kernels_ += place_without_kernels(tasks);
    for (std::size_t i = 0, task = 0; i < times.size(); ++i)
      if (rank.done[i].range->action.kind == Kind::task) times[i] = tasks[task++].ran;
    return times;
  }

  void take(const Rank& rank) {
    const std::vector<std::optional<Stretch>> times = device_times(rank);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Done& done = rank.done[i];
      if (!times[i]) {
        if (done.range->action.kind == Kind::task) ++on_processor_;
        if (done.range->action.kind != Kind::task && any_kernels()) {
          ++recorded_.dropped["sends, receives, reductions and optimizer steps without a kernel"];
          continue;
        }
      }
      const Stretch time = times[i].value_or(Stretch{done.range->start, done.range->end});
      add(rank, done, time.start + done.shift, time.end + done.shift);
    }
  }

  void add(const Rank& rank, const Done& done, std::int64_t start, std::int64_t end) {
    switch (done.range->action.kind) {
    case Kind::task:
      recorded_.tasks.push_back({rank.replica, rank.stage, done.step, done.task, start, end, recorded_.tasks.size()});
      return;
    case Kind::send:
    case Kind::receive:
      recorded_.transfers.push_back(
          {rank.replica, rank.stage, done.step, done.task, done.range->action.kind == Kind::send, start, end});
      return;
    case Kind::reduction:
      recorded_.updates.push_back(
          {rank.replica, rank.stage, done.step, UpdateEvent::Kind::reduction, done.task.chunk_index, start, end});
      return;
    case Kind::optimizer:
      recorded_.updates.push_back({rank.replica, rank.stage, done.step, UpdateEvent::Kind::optimizer, 0, start, end});
      return;
    case Kind::shard:
      return; // the file reader drops them
    }
  }

  [[nodiscard]] bool any_kernels() const { return std::ranges::any_of(files_, &NsysFile::has_kernels); }

  void finish() {
    note_times(recorded_.notes, without_kernels_, on_processor_, "their NVTX ranges");
    std::erase_if(recorded_.dropped, [](const auto& entry) { return entry.second == 0; });
    recorded_.facts.backend = "Nsight Systems";
    recorded_.facts.transport = any_kernels() ? "NCCL" : "";
    recorded_.facts.machine = files_.front().device;
    if (recorded_.tasks.empty())
      refuse("has no complete step", "timers need an optimizer after each step; ranges like PP:0F3 do not");
  }

  std::vector<NsysFile> files_;
  const ImportOptions& options_;
  std::vector<std::int64_t> shifts_; ///< by file
  std::vector<Rank> ranks_;
  std::size_t on_processor_ = 0;    ///< tasks with the time of their range
  std::size_t without_kernels_ = 0; ///< tasks of zero length
  Recorded recorded_;
};

} // namespace

Recorded read_nsys(std::span<const ImportFile> files, const ImportOptions& options) {
  std::vector<NsysFile> read;
  for (const ImportFile& file : files) {
    read.push_back(read_nsys_file(file));
    if (options.progress) options.progress(static_cast<double>(read.size()) / static_cast<double>(files.size()));
  }
  if (read.empty()) throw Error{ExitCode::bad_input, {"nsys", "no files are given", std::string{how_to_profile}}};
  return Collector{std::move(read), options}.collect();
}

const ImportFormat nsys::definition{
    .name = "nsys",
    .files = "*.sqlite",
    .what = "Nsight Systems, exported with --type sqlite; one file per rank, or one for several",
    .sign = "SQLite format 3",
    .read = [](std::span<const ImportFile> files, const ImportOptions& options) {
      return assemble(read_nsys(files, options), options, name_of(files));
    }};

} // namespace ppsim::traces
