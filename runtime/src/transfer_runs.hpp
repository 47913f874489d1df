#pragma once
// Times of transfers, taken from runs that do little else.

#include "ppsim/runtime/backend.hpp"

#include <cstdint>
#include <vector>

namespace ppsim::runtime {

/// Trains one microbatch through `stages` stages, over and over, with activations of each of `sizes` (bytes) made of
/// numbers of `number_bytes`: each transfer then has its link for itself, and takes the time from the end of the task
/// that made it to its arrival. The medians; only the leader gets them.
[[nodiscard]] std::vector<TransferSample> transfers_of_runs(Backend& backend, std::size_t stages,
                                                            const RunOptions& options,
                                                            const std::vector<std::int64_t>& sizes,
                                                            std::size_t number_bytes);

} // namespace ppsim::runtime
