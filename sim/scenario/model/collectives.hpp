#pragma once
// What the collectives of a layer take, over the links of a training.

#include "block.hpp"

namespace ppsim::model {

/// One over the tensor-parallel ranks, of `elements` over all of them. Throws Error where it is out of range, as do all
/// of these.
[[nodiscard]] Duration tensor_collective(const Sizes& sizes, Collective collective, Int128 elements);

/// All-to-all of so many bytes of one rank's tokens, a copy for each expert, between the ranks that hold other experts.
[[nodiscard]] Duration expert_exchange(const Sizes& sizes, Int128 bytes);

/// Expert tensor parallelism: gathered before and scattered after experts that are split over ranks.
void add_expert_tensor_collectives(Block& block, const Sizes& sizes, Int128 elements);

/// Context parallelism: what attention needs of the other ranks' tokens, with so many bytes of queries and results, and
/// of keys and values, for its own. A ring passes keys and values on, backwards their gradients besides.
void add_context_exchange(Block& block, const Sizes& sizes, Int128 queries_and_results, Int128 keys_and_values);

/// Tensor parallelism around a part with `in` elements before and `out` after it: with sequence parallelism gathered
/// before and scattered after it, else reduced after it, and the other way round for the gradients (Korthikanti et al.,
/// figures 4 and 5).
void add_tensor_collectives(Block& block, const Sizes& sizes, Int128 in, Int128 out);

} // namespace ppsim::model
