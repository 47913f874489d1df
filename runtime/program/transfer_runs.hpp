#pragma once
// Times of transfers, taken from runs that do little else.

#include "ppsim/runtime/backend.hpp"

#include <cstddef>
#include <vector>

namespace ppsim::runtime {

/// Trains one microbatch through `stages` stages, over and over, with activations of 4 KiB to 16 MiB made of numbers of
/// `number_bytes` (2 or more): each transfer then has its link for itself, and takes the time from the end of the task
/// that made it to its arrival. The medians; only the leader gets them.
[[nodiscard]] std::vector<TransferSample> transfers_of_runs(Backend& backend, std::size_t stages,
                                                            const RunOptions& options, std::size_t number_bytes);

} // namespace ppsim::runtime
