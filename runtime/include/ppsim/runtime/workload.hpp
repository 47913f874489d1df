#pragma once
// Workload: what the tasks of a replay compute.

#include "ppsim/base/units.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/runtime/seeded.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace ppsim::runtime {

/// The kind of layer. mlp: x + W2 gelu(W1 norm(x)), width to 4*width and back. transformer: x + Wo attention(norm(x)),
/// then the mlp; causal, with `heads` heads.
enum class Block : std::uint8_t { mlp, transformer };
[[nodiscard]] std::string_view to_string(Block block);

enum class OptimizerKind : std::uint8_t { sgd, adam };
[[nodiscard]] std::string_view to_string(OptimizerKind kind);

/// A rate at which the loss of both blocks falls from the first steps on. Adam moves every parameter by about its rate,
/// whatever the gradient. `delay`: by how many updates the weights of a gradient are out of date; a longer delay needs
/// a smaller rate.
[[nodiscard]] constexpr double default_learning_rate(OptimizerKind kind, std::size_t depth = 1, std::size_t delay = 1) {
  return (kind == OptimizerKind::sgd ? 0.05 : 0.002) / excess_depth(depth) / excess_depth(delay);
}

/// Limits of tokens, width and heads, and of layers per chunk, so that matrix dimensions fit BLAS's 32 bits.
inline constexpr std::size_t most_rows = 65536, most_layers = 4096;

/// The trained model: every chunk has `layers` equal layers. Inputs and targets follow from the seed; the loss of a
/// microbatch is the mean of (y - target)^2 / 2.
struct Workload {
  Block block = Block::mlp;
  std::size_t tokens = 256; ///< rows of an activation
  std::size_t width = 256;  ///< columns of an activation
  std::size_t heads = 4;    ///< transformer; divides width
  std::size_t layers = 1;   ///< per chunk
  std::size_t depth = 1;    ///< branches of the whole model; deeper models start with smaller parameters
  std::uint32_t seed = 1;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double learning_rate = default_learning_rate(OptimizerKind::sgd); ///< other optimizers need another
  bool operator==(const Workload&) const = default;
};

/// Branches of a model with this many chunks.
[[nodiscard]] constexpr std::size_t depth_of(const Workload& workload, std::size_t chunks) {
  return chunks * workload.layers * (workload.block == Block::transformer ? 2 : 1);
}

/// "mlp: 256 tokens, width 512, 1 layer per chunk".
[[nodiscard]] std::string in_words(const Workload& workload);

/// The scenario settings that determine task times.
[[nodiscard]] Settings settings(const Workload& workload);

/// Memory of one chunk on a device. All chunks are equal.
struct ChunkSizes {
  std::size_t parameters = 0; ///< count, over all layers
  Bytes parameter_bytes{};    ///< as F and I read them
  Bytes gradient_bytes{};     ///< fp32 sums
  Bytes optimizer_bytes{};    ///< moments, and a master copy if parameters are not fp32
  Bytes stash_for_input{};    ///< part of F's stash that only I needs, freed at the end of I
  Bytes stash_for_weight{};   ///< part that W also needs, freed at the end of W
  Bytes boundary{};           ///< one transfer: an activation or its gradient
  Bytes scratch{};            ///< workspace of a stage, whatever its task
  [[nodiscard]] Bytes stash() const { return stash_for_input + stash_for_weight; }
  bool operator==(const ChunkSizes&) const = default;
};

} // namespace ppsim::runtime
