#pragma once
// Layout: offsets of the parts of a chunk's parameters, stash and scratch space; the source of all sizes.

#include "ppsim/runtime/workload.hpp"

#include <cstddef>

namespace ppsim::runtime::gpu {

/// cublasLt's fastest algorithms need at least 16 bytes; CUDA's allocations are aligned to 256.
inline constexpr std::size_t alignment = 256;
/// Workspace of cublasLt: its documentation recommends 32 MiB for Hopper, which suffices everywhere.
inline constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;

/// Allocates offsets for consecutive parts, each aligned.
class Region {
public:
  constexpr std::size_t add(std::size_t bytes) {
    const std::size_t offset = size_;
    size_ += (bytes + alignment - 1) / alignment * alignment;
    return offset;
  }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

private:
  std::size_t size_ = 0;
};

/// One layer: an mlp, or attention and an mlp; each is a branch added to the residual stream. An activation is [tokens,
/// width]. The stash has the same content as the host device's: for each branch the norm's result, the inputs of its
/// matrices, and space for the gradient of its output. I overwrites parts with gradients after their last use.
struct Layout {
  explicit constexpr Layout(const Workload& workload)
      : attends{workload.block == Block::transformer}, tokens{workload.tokens}, width{workload.width},
        hidden{4 * workload.width}, heads{workload.heads}, layers{workload.layers} {
    const std::size_t two = sizeof(std::uint16_t); // bytes of a bf16
    const std::size_t activation = tokens * width * two;
    if (attends) {
      qkv = parameters;
      parameters += width * 3 * width;
      projection = parameters;
      parameters += width * width;
      deviation1 = for_input.add(tokens * sizeof(float));
      probabilities = for_input.add(heads * tokens * tokens * two);
      gradient1 = for_weight.add(activation);
      normed1 = for_weight.add(activation);
      projected = for_weight.add(3 * activation);
      mixed = for_weight.add(activation);
      scores = scratch.add(heads * tokens * tokens * sizeof(float));
      scores_gradient = scratch.add(heads * tokens * tokens * two);
      mixed_gradient = scratch.add(activation);
      query_gradient = scratch.add(activation);
    }
    up = parameters;
    parameters += width * hidden;
    down = parameters;
    parameters += hidden * width;
    deviation2 = for_input.add(tokens * sizeof(float));
    gradient2 = for_weight.add(activation);
    normed2 = for_weight.add(activation);
    before_gelu = for_weight.add(tokens * hidden * two);
    after_gelu = for_weight.add(tokens * hidden * two);
    hidden_gradient = scratch.add(tokens * hidden * two);
    normed_gradient = scratch.add(activation);
    unasked = scratch.add(activation);
    workspace = scratch.add(workspace_bytes);
  }

  [[nodiscard]] constexpr std::size_t head_width() const { return width / heads; }
  [[nodiscard]] constexpr ChunkSizes sizes(OptimizerKind optimizer) const {
    const auto bytes = [](std::size_t count) { return Bytes{static_cast<std::int64_t>(count)}; };
    const std::size_t numbers = layers * parameters;
    return {.parameters = numbers,
            .parameter_bytes = bytes(numbers * sizeof(std::uint16_t)),
            .gradient_bytes = bytes(numbers * sizeof(float)),
            // A master copy, because bf16 is too coarse for small steps, and Adam's two moments.
            .optimizer_bytes = bytes(numbers * sizeof(float) * (optimizer == OptimizerKind::adam ? 3 : 1)),
            .stash_for_input = bytes(layers * for_input.size()),
            .stash_for_weight = bytes(layers * for_weight.size()),
            .boundary = bytes(tokens * width * sizeof(std::uint16_t)),
            .scratch = bytes(scratch.size())};
  }

  bool attends;
  std::size_t tokens, width, hidden, heads, layers;

  // Offsets of a layer's parameters, in numbers: the start of each matrix (see Matrix in seeded.hpp), and the total
  std::size_t qkv = 0;        ///< [width, 3 width]: queries, keys, values, head by head
  std::size_t projection = 0; ///< [width, width]
  std::size_t up = 0;         ///< [width, hidden]
  std::size_t down = 0;       ///< [hidden, width]
  std::size_t parameters = 0;

  // Offsets in bytes of a layer's stash, the part that only I needs
  std::size_t deviation1 = 0, deviation2 = 0; ///< of the norms: 1 / deviation by row, fp32
  std::size_t probabilities = 0;              ///< [heads, tokens, tokens]
  Region for_input{};

  // The part that W also needs
  std::size_t gradient1 = 0, gradient2 = 0; ///< of the residual stream after the branch
  std::size_t normed1 = 0, normed2 = 0;
  std::size_t projected = 0;   ///< queries, keys, values; I replaces them by their gradients
  std::size_t mixed = 0;       ///< probabilities times values
  std::size_t before_gelu = 0; ///< I replaces it by its gradient
  std::size_t after_gelu = 0;
  Region for_weight{};

  // Scratch space of a stage
  std::size_t scores = 0;          ///< fp32, later gradients of the probabilities
  std::size_t scores_gradient = 0; ///< bf16
  std::size_t mixed_gradient = 0, query_gradient = 0, hidden_gradient = 0, normed_gradient = 0;
  std::size_t unasked = 0; ///< the first chunk's input gradient
  std::size_t workspace = 0;
  Region scratch{};
};

} // namespace ppsim::runtime::gpu
