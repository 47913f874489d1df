#pragma once
// Workers: who makes a plan. Several processes make the same plan, and share what takes long: simulations.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Called now and then, by one thread at a time: so many of `what` ("configurations") are done, of so many as far as is
/// known.
using PlanWatch = std::function<void(std::string_view what, std::size_t done, std::size_t of)>;

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
