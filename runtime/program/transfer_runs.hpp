#pragma once
// Times of transfers, from runs with little compute.

#include "ppsim/runtime/backend.hpp"

#include <cstddef>
#include <vector>

namespace ppsim::runtime {

/// Trains one microbatch at a time through `stages` stages, with activations of 4 KiB to 16 MiB made of numbers of
/// `number_bytes` (2 or more). Each transfer then has its link for itself. Its time is from the end of its producer to
/// its arrival. Returns the medians; only the leader gets them.
[[nodiscard]] std::vector<TransferSample> transfers_of_runs(Backend& backend, std::size_t stages,
                                                            const RunOptions& options, std::size_t number_bytes);

} // namespace ppsim::runtime
