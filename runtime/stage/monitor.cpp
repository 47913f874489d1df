#include "ppsim/runtime/monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "host/cores.hpp"

namespace ppsim::runtime {
namespace {

/// The watcher polls at this interval, and counts no longer pause as time without progress: a suspended process
/// (SIGSTOP, heavy load) has not failed.
constexpr std::chrono::milliseconds pause{5};
constexpr std::chrono::milliseconds longest_pause{100};

/// The most stages in a report.
constexpr std::size_t most_named = 16;

} // namespace

/// What a stage does, in one atomic word. On a separate cache line.
struct alignas(64) Monitor::State {
  static constexpr unsigned doing_bits = 8;
  static constexpr unsigned task_bits = 32;

  std::atomic<std::uint64_t> word{0};

  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  /// Includes a counter, so that a repeated state is new.
  void set(Doing doing, std::size_t task) {
    const std::uint64_t count = (word.load(std::memory_order_relaxed) >> (doing_bits + task_bits)) + 1;
    word.store(count << (doing_bits + task_bits) | (task & mask(task_bits)) << doing_bits |
                   static_cast<std::uint64_t>(doing),
               std::memory_order_release);
  }
  static Doing doing(std::uint64_t word) { return static_cast<Doing>(word & mask(doing_bits)); }
  struct Seen {
    Doing doing{};
    std::size_t task = 0;
  };
  [[nodiscard]] Seen get() const {
    const std::uint64_t now = word.load(std::memory_order_acquire);
    return {doing(now), static_cast<std::size_t>(now >> doing_bits & mask(task_bits))};
  }
};

/// The stages at one moment, and who waits for whom.
class Monitor::Snapshot {
public:
  Snapshot(const Program& program, const std::vector<StageId>& stages, const std::vector<State>& states)
      : program_{program} {
    seen_.resize(program.stages.size());
    for (const StageId stage : stages) seen_[index(stage)] = states[index(stage)].get();
  }

  [[nodiscard]] bool is_idle(StageId stage) const {
    return !seen_[index(stage)] || seen_[index(stage)]->doing == Doing::nothing;
  }

  [[nodiscard]] std::string describe(StageId stage) const {
    const std::size_t number = index(stage);
    if (!seen_[number]) return fmt::format("stage {} runs in another process", number);
    const ProgramTask* task = task_of(stage);
    switch (seen_[number]->doing) {
    case Doing::nothing:
      return fmt::format("stage {} does nothing", number);
    case Doing::computing:
      if (task != nullptr) return fmt::format("stage {} computes {}", number, to_string(task->task));
      return fmt::format("stage {} computes", number);
    case Doing::waiting_for_input:
      if (task == nullptr || !task->input) return fmt::format("stage {} waits for an input", number);
      return fmt::format("stage {} waits for {}{}", number, content(*task->input), from(*task->input));
    case Doing::waiting_for_slot:
      if (task == nullptr || !task->output) return fmt::format("stage {} waits for a free slot", number);
      return fmt::format("stage {} waits for a free slot to stage {}{}, for {}", number,
                         index(program_.channel(*task->output).to),
                         has_freed(*task->output) ? ", which has freed one" : "", content(*task->output));
    case Doing::finishing:
      return fmt::format("stage {} finishes its step", number);
    case Doing::meeting:
      return fmt::format("stage {} waits for the other stages", number);
    case Doing::preparing:
      return fmt::format("stage {} prepares", number);
    }
    return "?";
  }

  /// The stage of this process that `stage` waits for; none if it does not wait for another, or if the awaited output
  /// was sent and must have been lost.
  [[nodiscard]] std::optional<StageId> peer(StageId stage) const {
    const ProgramTask* task = task_of(stage);
    const Doing doing = seen_[index(stage)] ? seen_[index(stage)]->doing : Doing::nothing;
    if (doing == Doing::meeting) return not_meeting();
    if (task == nullptr) return std::nullopt;
    if (doing == Doing::waiting_for_input && task->input) {
      const StageId sender = program_.channel(*task->input).from;
      if (is_here(sender) && !has_run(sender, program_.transfer(*task->input).producer)) return sender;
    }
    if (doing == Doing::waiting_for_slot && task->output) {
      const StageId receiver = program_.channel(*task->output).to;
      if (is_here(receiver) && !has_freed(*task->output)) return receiver;
    }
    return std::nullopt;
  }

private:
  [[nodiscard]] bool is_here(StageId stage) const { return seen_[index(stage)].has_value(); }
  [[nodiscard]] const ProgramTask* task_of(StageId stage) const {
    const auto& tasks = program_.stages[index(stage)].tasks;
    const auto& seen = seen_[index(stage)];
    return seen && seen->task < tasks.size() ? &tasks[seen->task] : nullptr;
  }
  [[nodiscard]] std::string content(TransferRef ref) const {
    const Task& producer = program_.schedule.task(program_.transfer(ref).producer);
    return fmt::format("the {} of {}", producer.pass == Pass::forward ? "activation" : "gradient", to_string(producer));
  }
  [[nodiscard]] std::string from(TransferRef ref) const {
    const StageId sender = program_.channel(ref).from;
    return fmt::format(" from stage {}{}", index(sender),
                       has_run(sender, program_.transfer(ref).producer) ? ", which has run it" : "");
  }

  /// Whether `stage`, as far as known here, is past that task of its program.
  [[nodiscard]] bool has_run(StageId stage, TaskId task) const {
    const auto& seen = seen_[index(stage)];
    if (!seen || seen->doing == Doing::nothing) return false;
    if (seen->doing == Doing::finishing || seen->doing == Doing::meeting) return true;
    return index(task) < index(program_.schedule.first_task(stage)) + seen->task;
  }

  /// Whether the receiver is past the task that frees the slot for this transfer.
  [[nodiscard]] bool has_freed(TransferRef ref) const {
    const Channel& mine = program_.channel(ref);
    if (ref.position < mine.slots) return is_here(mine.to); // it was free from the start
    std::size_t before = ref.position - mine.slots;
    for (const ProgramTask& task : program_.stages[index(mine.to)].tasks)
      if (task.input && task.input->channel == ref.channel && before-- == 0) return has_run(mine.to, task.id);
    return false;
  }

  [[nodiscard]] std::optional<StageId> not_meeting() const {
    for (std::size_t stage = 0; stage < seen_.size(); ++stage)
      if (seen_[stage] && seen_[stage]->doing != Doing::meeting) return make_id<StageId>(stage);
    return std::nullopt;
  }

  const Program& program_;
  std::vector<std::optional<State::Seen>> seen_; ///< by stage; none for those of other processes
};

std::vector<StageId> all_stages(std::size_t count) {
  const IdRange<StageId> ids{0, count};
  return {ids.begin(), ids.end()};
}

Monitor::Monitor(const Program& program, std::vector<StageId> stages, Duration limit, Duration grace,
                 std::function<void(const std::string& what)> on_stuck, Duration preparation_limit)
    : program_{program}, stages_{std::move(stages)}, limit_{limit}, grace_{grace},
      preparation_limit_{std::max(limit, preparation_limit)}, on_stuck_{std::move(on_stuck)},
      states_(program.stages.size()), watcher_{start_thread("the run's monitor", [this] { watch(); })} {}

Monitor::~Monitor() {
  {
    const std::lock_guard lock{mutex_};
    done_ = true;
  }
  ended_.notify_all();
}

void Monitor::note(StageId stage, Doing doing, std::size_t task) {
  states_[index(stage)].set(doing, task);
}

void Monitor::stop(std::string what) {
  const std::lock_guard lock{mutex_};
  if (stopped_.load(std::memory_order_relaxed)) return;
  failure_ = std::move(what);
  stopped_.store(true, std::memory_order_release);
}

std::string Monitor::failure() const {
  const std::lock_guard lock{mutex_};
  return failure_;
}

std::string Monitor::describe(StageId stage) const {
  return Snapshot{program_, stages_, states_}.describe(stage);
}

std::string Monitor::standstill() const {
  const Snapshot standing{program_, stages_, states_};
  std::vector<bool> is_missed(program_.stages.size(), false);
  for (const StageId stage : stages_)
    if (const auto peer = standing.peer(stage)) is_missed[index(*peer)] = true;
  const auto rank = [&](StageId stage) {
    if (standing.is_idle(stage)) return 1;
    return standing.peer(stage) ? 2 : 0;
  };
  std::vector<StageId> stages = stages_;
  std::erase_if(stages, [&](StageId stage) { return standing.is_idle(stage) && !is_missed[index(stage)]; });
  std::ranges::stable_sort(stages, {}, rank);
  std::string said;
  for (std::size_t i = 0; i < stages.size() && i < most_named; ++i)
    said += (i == 0 ? "" : "; ") + standing.describe(stages[i]);
  if (stages.size() > most_named) said += fmt::format("; and {} more stages", stages.size() - most_named);
  return said;
}

void Monitor::watch() {
  using Clock = std::chrono::steady_clock;
  std::vector<std::uint64_t> words(program_.stages.size(), 0);
  Duration stood{0}; // without progress, or since the stop
  bool was_stopped = false;
  bool has_told = false;
  auto looked = Clock::now();
  std::unique_lock lock{mutex_};
  while (!ended_.wait_for(lock, pause, [this] { return done_; })) {
    lock.unlock(); // stop() and on_stuck_ must not wait for this thread
    const auto now = Clock::now();
    stood += std::min<Duration>(now - looked, longest_pause);
    looked = now;
    const auto [has_moved, is_idle, prepares] = look(words);
    const Duration limit = prepares ? preparation_limit_ : limit_;
    if (stopped() && !std::exchange(was_stopped, true)) stood = Duration{0};
    if (!was_stopped && (has_moved || is_idle)) stood = Duration{0};
    if (!was_stopped && stood >= limit)
      stop(fmt::format("no progress for {}: {}", format_duration(limit), standstill()));
    if (was_stopped && !is_idle && stood >= grace_ && !std::exchange(has_told, true))
      on_stuck_(fmt::format("{}; {} later: {}", failure(), format_duration(grace_), standstill()));
    lock.lock();
  }
}

Monitor::Look Monitor::look(std::vector<std::uint64_t>& words) const {
  Look look;
  for (const StageId stage : stages_) {
    const std::uint64_t word = states_[index(stage)].word.load(std::memory_order_acquire);
    look.has_moved = look.has_moved || words[index(stage)] != word;
    words[index(stage)] = word;
    look.is_idle = look.is_idle && State::doing(word) == Doing::nothing;
    look.prepares = look.prepares || State::doing(word) == Doing::preparing;
  }
  return look;
}

} // namespace ppsim::runtime
