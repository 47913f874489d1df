#pragma once
// What a collective took over a link, as nccl-tests measured it.

#include "ppsim/scenario/device.hpp"
#include "ppsim/traces/import.hpp"

namespace ppsim::traces {

/// What all_reduce_perf, all_gather_perf, reduce_scatter_perf or alltoall_perf printed, or its -J file: of each size
/// the mean of its times, out of place and in place. Which of them it was says the file, or, where an old version does
/// not, its name. Throws Error (bad_input), with the file as place, for a file of another test, without times, or of a
/// single size.
[[nodiscard]] MeasuredCollective read_measured_collective(const ImportFile& file);

} // namespace ppsim::traces
