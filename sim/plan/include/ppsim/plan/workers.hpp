#pragma once
// Workers: who makes a plan. Several processes make the same plan, and share what takes long: simulations.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ppsim {

/// Called now and then, from one thread, with how many were simulated so far.
using PlanWatch = std::function<void(std::uint64_t simulated)>;

/// What `make` gives for each number below `count`, by number, whichever process made it. All processes call it with
/// the same, one time after another, and all of them get everything. `make` may be called from several threads.
using SharePlanRound =
    std::function<std::vector<std::string>(std::size_t count, const std::function<std::string(std::size_t)>& make)>;

struct PlanWorkers {
  std::size_t threads = 1;   ///< of this process
  SharePlanRound share = {}; ///< none: this process makes all
  PlanWatch watch = {};
};

} // namespace ppsim
