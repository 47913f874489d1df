#pragma once
// Shared work among known processes.

#include "ppsim/runtime/shared_work.hpp"

#include <string>
#include <vector>

#include "processes/liveness.hpp"

namespace ppsim::runtime {

/// See ppsim/runtime/shared_work.hpp.
void share_work(Liveness& liveness, WorkRange all, const MakeRange& make, const TakeResult& take,
                const GiveUp& give_up);
[[nodiscard]] std::vector<std::string> share_round(Liveness& liveness, std::size_t count, std::size_t threads,
                                                   const MakeOne& make, const GiveUp& give_up);

} // namespace ppsim::runtime
