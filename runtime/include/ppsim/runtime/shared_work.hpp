#pragma once
// Shared work: stretches of one long work, handed out to the processes that mpirun or srun started.

#include <cstdint>
#include <functional>
#include <string>

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
/// of what is taken is bounded. Starts MPI. Throws Error (failed) where that fails, and what `make` or `take` throw.
void share_work(Stretch all, const MakeStretch& make, const TakeMade& take);

} // namespace ppsim::runtime
