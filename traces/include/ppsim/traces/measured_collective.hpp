#pragma once
// The measured times of a collective over a link, from nccl-tests.

#include "ppsim/scenario/device.hpp"
#include "ppsim/traces/import.hpp"

namespace ppsim::traces {

/// Reads the output of all_reduce_perf, all_gather_perf, reduce_scatter_perf or alltoall_perf, or its -J file: the mean
/// of the out-of-place and in-place times of each size. The collective comes from the content, or for old versions from
/// the file name. Throws Error (bad_input), with the file as place, for a file of another test, without times, or of a
/// single size.
[[nodiscard]] MeasuredCollective read_measured_collective(const ImportFile& file);

} // namespace ppsim::traces
