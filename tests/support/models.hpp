#pragma once
// Models for tests.

#include "ppsim/scenario/model.hpp"

namespace ppsim::test {

/// A small model with experts, for computations by hand.
inline Model small_moe() {
  return {.name = "small",
          .layers = 3,
          .hidden = 8,
          .ffn_hidden = 16,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 2,
          .vocab = 32,
          .sequence_length = 16,
          .gated = true,
          .experts = 4,
          .experts_per_token = 2,
          .shared_experts = 1,
          .expert_ffn_hidden = 4,
          .dense_layers = 1};
}

} // namespace ppsim::test
