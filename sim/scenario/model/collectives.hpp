#pragma once
// The times of a layer's collectives over the links of a training.

#include "block.hpp"

namespace ppsim::model {

/// A collective over the tensor-parallel ranks, of `elements` in total. Throws Error if the time is out of range; so do
/// all functions here.
[[nodiscard]] Duration tensor_collective(const Sizes& sizes, Collective collective, Int128 elements);

/// All-to-all of `bytes` of one rank's tokens, one copy per expert, between the ranks that hold other experts.
[[nodiscard]] Duration expert_exchange(const Sizes& sizes, Int128 bytes);

/// Expert tensor parallelism: gather before and scatter after experts that are split over ranks.
void add_expert_tensor_collectives(Block& block, const Sizes& sizes, Int128 elements);

/// Context parallelism: the data of other ranks' tokens that attention needs, with these sizes of queries and results,
/// and of keys and values, of its own tokens. A ring passes keys and values, in the backward also their gradients.
void add_context_exchange(Block& block, const Sizes& sizes, Int128 queries_and_results, Int128 keys_and_values);

/// Tensor parallelism around a part with `in` elements before and `out` after it. With sequence parallelism: gather
/// before, scatter after. Otherwise: reduce after. Reversed for gradients (Korthikanti et al., figures 4 and 5).
void add_tensor_collectives(Block& block, const Sizes& sizes, Int128 in, Int128 out);

} // namespace ppsim::model
