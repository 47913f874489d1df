#pragma once
// Shared work: stretches of one long work, handed out to the processes that mpirun or srun started.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ppsim::runtime {

/// Numbers from `begin` up to `end`.
struct Stretch {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const Stretch&) const = default;
};

/// What a stretch gives; on any process, from one thread at a time.
using MakeStretch = std::function<std::string(Stretch)>;
/// Gets what was made, in the order of the numbers, on the first process; false ends the work.
using TakeMade = std::function<bool(Stretch, const std::string& made)>;

/// Whether a launcher started this process with others, as far as it says.
[[nodiscard]] bool has_companions();

/// Hands out `all`, of which the first process alone has to know, to whichever process has nothing to do, the first one
/// included; returns when all is taken. How long stretches are follows from how long they take, and what is made ahead
/// of what is taken is bounded. What a process was to make that is lost meanwhile (not the first one), another one
/// makes, where the launcher lets the others live. Starts MPI. Throws Error (failed) where that fails, and what `make`
/// or `take` throw.
void share_work(Stretch all, const MakeStretch& make, const TakeMade& take);

/// What one number gives.
using MakeOne = std::function<std::string(std::size_t)>;

/// Rounds of work, each of which needs all that the one before it gave. All processes make the same rounds.
class SharedRounds {
public:
  /// Each process works with so many threads. Starts MPI, so that what is done before the first round, too, is known to
  /// be undone where a process is lost. Throws Error (failed) where that fails.
  explicit SharedRounds(std::size_t threads);
  ~SharedRounds();
  SharedRounds(const SharedRounds&) = delete;
  SharedRounds& operator=(const SharedRounds&) = delete;

  /// What `make` gives for every number below `count`, by number, on all processes; each number is made by whichever
  /// has nothing to do. Throws what `make` throws.
  [[nodiscard]] std::vector<std::string> make_all(std::size_t count, const MakeOne& make);

private:
  struct State;
  std::size_t threads_;
  std::unique_ptr<State> state_;
};

} // namespace ppsim::runtime
