#pragma once
// The same among processes that are known.

#include "ppsim/runtime/shared_work.hpp"

#include "processes/processes.hpp"

namespace ppsim::runtime {

/// See ppsim/runtime/shared_work.hpp.
void share_work(MessagePassing& messages, Stretch all, const MakeStretch& make, const TakeMade& take,
                const GiveUp& give_up);

} // namespace ppsim::runtime
