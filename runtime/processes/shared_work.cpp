#include "shared_work.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/runtime/launch.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "liveness.hpp"
#include "process_group.hpp"
#include "stage/result_bytes.hpp"
#include "work_queue.hpp"

namespace ppsim::runtime {

namespace {

WorkQueue::Moment moment() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// The report if processes end too early.
std::string undone() {
  return "the work is not done; the remaining ranks finish it if mpirun lets them (--enable-recovery)";
}

/// Sent instead of a range: the end of all work, and the end after a process was lost.
constexpr WorkRange no_more{}, no_more_after_loss{1, 1};

/// Another process, on the first one. Pending messages own their memory, because the work may end by an exception.
class WorkerProcess {
public:
  WorkerProcess(Liveness& liveness, std::size_t rank) : liveness_{liveness}, rank_{rank} {}

  [[nodiscard]] const std::optional<WorkRange>& range() const { return range_; } ///< that it works on
  [[nodiscard]] bool is_lost() { return range_ && liveness_.is_lost(rank_); }
  void give(WorkRange range) {
    range_ = range;
    size_ = std::make_shared<std::uint64_t>();
    pending_ = Pending::receive(liveness_.messages(), size_.get(), sizeof *size_, rank_, number(Tag::exchange), size_);
    send(range);
  }
  void dismiss() { send(liveness_.any_lost() ? no_more_after_loss : no_more); }
  [[nodiscard]] bool is_dismissed() { return sent_->test() || liveness_.is_lost(rank_); }

  /// The result of its range, once it has arrived.
  std::optional<std::pair<WorkRange, std::string>> made() {
    if (!pending_ || !pending_->test()) return std::nullopt;
    if (!made_) {
      made_ = std::make_shared<std::string>(*size_, '\0');
      pending_ =
          Pending::receive(liveness_.messages(), made_->data(), made_->size(), rank_, number(Tag::exchange), made_);
      if (!pending_->test()) return std::nullopt;
    }
    pending_.reset();
    return std::pair{*std::exchange(range_, std::nullopt), std::move(*std::exchange(made_, nullptr))};
  }

private:
  /// Does not wait for completion: a lost process receives nothing.
  void send(WorkRange range) {
    liveness_.begin(rank_);
    const auto content = std::make_shared<const WorkRange>(range);
    sent_ = Pending::send(liveness_.messages(), content.get(), sizeof range, rank_, number(Tag::exchange), content);
  }

  Liveness& liveness_;
  std::size_t rank_;
  std::optional<WorkRange> range_;
  std::shared_ptr<std::uint64_t> size_;
  std::shared_ptr<std::string> made_;
  std::optional<Pending> pending_, sent_;
};

/// The messages of the first process: assigned ranges and their results.
class Leader {
public:
  Leader(Liveness& liveness, WorkQueue queue, const MakeRange& make, const TakeResult& take, const GiveUp& give_up)
      : liveness_{liveness}, make_{make}, take_{take}, give_up_{give_up}, queue_{std::move(queue)} {
    for (std::size_t rank = 1; rank < liveness.messages().size(); ++rank)
      if (!liveness.was_lost(rank)) workers_.emplace_back(liveness, rank);
  }

  void run() {
    wait_until([this] { return advance(); }, give_up_);
    for (WorkerProcess& worker : workers_) worker.dismiss();
    wait_until([this] { return std::ranges::all_of(workers_, &WorkerProcess::is_dismissed); }, give_up_);
  }

private:
  /// Whether all work is done.
  bool advance() {
    liveness_.beat();
    for (WorkerProcess& worker : workers_)
      if (auto made = worker.made()) queue_.put(made->first, std::move(made->second), moment(), take_);
    workers_.remove_if([this](WorkerProcess& worker) {
      if (!worker.is_lost()) return false;
      queue_.give_back(*worker.range());
      return true;
    });
    if (own_.valid() && own_.wait_for(std::chrono::seconds{0}) == std::future_status::ready)
      queue_.put(own_range_, own_.get(), moment(), take_);
    hand_out();
    return queue_.is_over() && !own_.valid() &&
           std::ranges::none_of(workers_, [](const WorkerProcess& worker) { return worker.range().has_value(); });
  }

  void hand_out() {
    for (WorkerProcess& worker : workers_)
      if (const auto range = worker.range() ? std::nullopt : queue_.next(moment())) worker.give(*range);
    const auto range = own_.valid() ? std::nullopt : queue_.next(moment());
    if (!range) return;
    own_range_ = *range;
    own_ = std::async(std::launch::async, make_, *range);
  }

  Liveness& liveness_;
  const MakeRange& make_;
  const TakeResult& take_;
  const GiveUp& give_up_;
  std::list<WorkerProcess> workers_;
  WorkQueue queue_;
  WorkRange own_range_;
  std::future<std::string> own_; ///< computed by the first process itself, between its messages
};

/// The GiveUp of another process's waits.
GiveUp patience_with_first(Liveness& liveness, const GiveUp& give_up) {
  return [&] {
    give_up();
    liveness.beat();
    liveness.check_first();
  };
}

void follow(Liveness& liveness, const MakeRange& make, const GiveUp& give_up) {
  MessagePassing& messages = liveness.messages();
  const GiveUp patience = patience_with_first(liveness, give_up);
  while (true) {
    const auto range = std::make_shared<WorkRange>();
    Pending::receive(messages, range.get(), sizeof *range, 0, number(Tag::exchange), range).wait(patience);
    if (*range == no_more_after_loss) liveness.announce_loss();
    if (range->begin == range->end) return;
    std::future<std::string> making = std::async(std::launch::async, make, *range);
    while (making.wait_for(liveness.rules().beat) != std::future_status::ready) liveness.beat();
    const auto made = std::make_shared<const std::string>(making.get());
    const auto size = std::make_shared<const std::uint64_t>(made->size());
    Pending::send(messages, size.get(), sizeof *size, 0, number(Tag::exchange), size).wait(patience);
    Pending::send(messages, made->data(), made->size(), 0, number(Tag::exchange), made).wait(patience);
  }
}

/// The first process's message, on all remaining processes.
Message give_all(Liveness& liveness, Message of_first, const GiveUp& give_up) {
  MessagePassing& messages = liveness.messages();
  if (messages.rank() != 0)
    return receive_long(messages, 0, Tag::broadcast, patience_with_first(liveness, give_up), Wait::eager);
  const auto message = std::make_shared<const Message>(std::move(of_first));
  struct Lost {};
  for (std::size_t rank = 1; rank < messages.size(); ++rank) {
    if (liveness.was_lost(rank)) continue;
    liveness.begin(rank);
    try {
      send_long(messages, message, rank, Tag::broadcast, [&] {
        give_up();
        if (liveness.is_lost(rank)) throw Lost{};
      });
    } catch (const Lost&) { // the next ranges are assigned to others
    }
  }
  return *message;
}

} // namespace

void share_work(Liveness& liveness, WorkRange all, const MakeRange& make, const TakeResult& take,
                const GiveUp& give_up) {
  if (liveness.messages().rank() == 0)
    Leader{liveness, WorkQueue{all}, make, take, give_up}.run();
  else
    follow(liveness, make, give_up);
}

std::vector<std::string> share_round(Liveness& liveness, std::size_t count, std::size_t threads, const MakeOne& make,
                                     const GiveUp& give_up) {
  const MakeRange make_range = [&](WorkRange range) {
    std::vector<std::string> made(range.end - range.begin);
    for_each_index(made.size(), threads, [&](std::size_t i) { made[i] = make(range.begin + i); });
    ByteWriter writer;
    for (const std::string& text : made) writer.put(text);
    return std::string{reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
  };
  Message all;
  if (liveness.messages().rank() == 0) {
    // All wait for the last range of a round, so ranges are short near its end.
    const std::size_t longest = std::max(threads, count / (8 * liveness.messages().size()));
    const auto take = [&](WorkRange, const std::string& made) {
      const auto bytes = std::as_bytes(std::span{made});
      all.insert(all.end(), bytes.begin(), bytes.end());
      return true;
    };
    Leader{liveness, WorkQueue{{0, count}, threads, longest}, make_range, take, give_up}.run();
  } else
    follow(liveness, make_range, give_up);
  const Message bytes = give_all(liveness, std::move(all), give_up);
  std::vector<std::string> made(count);
  ByteReader reader{bytes};
  for (std::string& text : made) reader.get(text);
  reader.end();
  return made;
}

bool has_other_processes() {
  const auto launched = launch();
  return launched && launched->size != 1U;
}

namespace {

Liveness liveness_of(ProcessGroup& group) {
  return Liveness{group.messages(),
                  {.is_gone = [&](std::size_t rank) { return group.sees_gone(rank); },
                   .on_loss = [&](std::size_t rank) { group.lose(rank); }}};
}

} // namespace

struct SharedRounds::State {
  explicit State(ProcessGroup& group) : liveness{liveness_of(group)} {}
  Liveness liveness;
};

SharedRounds::SharedRounds(std::size_t threads) : threads_{threads} {
  ProcessGroup& group = ProcessGroup::get();
  group.set_doing(undone); // also between rounds: all of them are one work
  state_ = std::make_unique<State>(group);
}

SharedRounds::~SharedRounds() {
  ProcessGroup::get().set_doing(nullptr);
}

std::vector<std::string> SharedRounds::make_all(std::size_t count, const MakeOne& make) {
  return share_round(state_->liveness, count, threads_, make, [] {});
}

void share_work(WorkRange all, const MakeRange& make, const TakeResult& take) {
  ProcessGroup& group = ProcessGroup::get();
  group.set_doing(undone);
  Liveness liveness = liveness_of(group);
  share_work(liveness, all, make, take, [] {});
  group.set_doing(nullptr);
}

} // namespace ppsim::runtime
