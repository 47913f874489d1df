#pragma once
// Workers: the threads and processes that make a plan. Several processes make the same plan and share the simulations.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Called from time to time, by one thread at a time: `done` of `of` items `what` ("configurations") are done, as far
/// as is known.
using PlanWatch = std::function<void(std::string_view what, std::size_t done, std::size_t of)>;

/// Returns the result of `make` for each number below `count`, by number, from whichever process ran it. All processes
/// call it with equal arguments in the same order, and all get all results. `make` may be called from several threads.
using SharePlanRound =
    std::function<std::vector<std::string>(std::size_t count, const std::function<std::string(std::size_t)>& make)>;

struct PlanWorkers {
  std::size_t threads = 1;   ///< of this process
  SharePlanRound share = {}; ///< none: this process makes everything
  PlanWatch watch = {};
};

} // namespace ppsim
