#pragma once
// Shared work: ranges of a long computation, distributed to the processes that mpirun or srun started.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ppsim::runtime {

/// Numbers from `begin` up to `end`.
struct WorkRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const WorkRange&) const = default;
};

/// Computes a range. Called on any process, from one thread at a time.
using MakeRange = std::function<std::string(WorkRange)>;
/// Takes the results in order, on the first process; false ends the work.
using TakeResult = std::function<bool(WorkRange, const std::string& made)>;

/// Whether a launcher started this process with others, as far as its environment shows.
[[nodiscard]] bool has_other_processes();

/// Distributes `all` (used on the first process only) to idle processes, the first one included. Returns when all
/// results are taken. The length of ranges adapts to their duration, and the results computed ahead of `take` are
/// bounded. If a process other than the first is lost, another one repeats its ranges, provided that the launcher does
/// not end the others. Starts MPI. Throws Error (failed) if that fails, and whatever `make` or `take` throw.
void share_work(WorkRange all, const MakeRange& make, const TakeResult& take);

/// Computes the result for one number.
using MakeOne = std::function<std::string(std::size_t)>;

/// Rounds of work; each needs all results of the one before it. All processes run the same rounds.
class SharedRounds {
public:
  /// Each process works with `threads` threads. Starts MPI now, so that work before the first round can also be
  /// repeated if a process is lost. Throws Error (failed) if that fails.
  explicit SharedRounds(std::size_t threads);
  ~SharedRounds();
  SharedRounds(const SharedRounds&) = delete;
  SharedRounds& operator=(const SharedRounds&) = delete;

  /// The results of `make` for every number below `count`, by number, on all processes. Idle processes take the next
  /// number. Throws what `make` throws.
  [[nodiscard]] std::vector<std::string> make_all(std::size_t count, const MakeOne& make);

private:
  struct State;
  std::size_t threads_;
  std::unique_ptr<State> state_;
};

} // namespace ppsim::runtime
