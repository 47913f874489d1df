#pragma once
// Seeded: inputs, targets and parameters as functions of the workload's seed and their position. Every device and
// process computes the same ones, in any order. Inline, so that plugins can use it.

#include "ppsim/base/units.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ppsim::runtime {

/// The use of a generated number.
enum class SeededUse : std::uint32_t { input, target, parameter };

/// A bijection of 32 bits in which every input bit flips every output bit about half of the time (constants of C.
/// Wellons' "lowbias32", hash-prospector, 2018).
[[nodiscard]] constexpr std::uint32_t mix_bits(std::uint32_t bits) {
  bits = (bits ^ (bits >> 16U)) * 0x7feb352dU;
  bits = (bits ^ (bits >> 15U)) * 0x846ca68bU;
  return bits ^ (bits >> 16U);
}

/// The key of a sequence of numbers: one microbatch, or one matrix.
[[nodiscard]] constexpr std::uint32_t seeded_key(std::uint32_t seed, SeededUse what, std::size_t item) {
  return mix_bits(mix_bits(seed + static_cast<std::uint32_t>(what) * 0x9e3779b9U) + static_cast<std::uint32_t>(item));
}

/// Uniform in [-1, 1), a multiple of 2^-23: exact in fp32, so equal everywhere.
[[nodiscard]] constexpr float seeded_value(std::uint32_t key, std::uint32_t position) {
  const std::uint32_t bits = mix_bits(key + position * 0x9e3779b9U);
  return static_cast<float>(static_cast<std::int32_t>(bits >> 8U) - (1 << 23)) * 0x1p-23F;
}

inline constexpr float unit_variance = 1.7320508F; ///< scales a uniform number in [-1, 1) to variance 1

/// A microbatch's input, in row-major order of tokens and columns; mean 0, variance 1.
[[nodiscard]] constexpr std::uint32_t input_key(std::uint32_t seed, MicrobatchId microbatch) {
  return seeded_key(seed, SeededUse::input, index(microbatch));
}
[[nodiscard]] constexpr float input_value(std::uint32_t key, std::size_t position) {
  return unit_variance * seeded_value(key, static_cast<std::uint32_t>(position));
}

/// Targets: half the input plus one shift per column. A model learns the shifts within few steps, so the loss falls
/// visibly if training works.
[[nodiscard]] constexpr std::uint32_t target_key(std::uint32_t seed) {
  return seeded_key(seed, SeededUse::target, 0);
}
[[nodiscard]] constexpr float target_shift(std::uint32_t key, std::size_t column) {
  return unit_variance * seeded_value(key, static_cast<std::uint32_t>(column));
}
[[nodiscard]] constexpr float target_value(float input, float shift) {
  return 0.5F * input + shift;
}

/// The weight matrices of a layer, in the order of its parameters; mlp has only the last two. All are row-major with a
/// row per input column: y = x W.
enum class Matrix : std::uint32_t { qkv, projection, up, down };

/// Initial parameters of one matrix, row-major: uniform in +-parameter_limit. Equal on every stage that holds the
/// chunk.
[[nodiscard]] constexpr std::uint32_t parameter_key(std::uint32_t seed, ChunkId chunk, std::size_t layer,
                                                    Matrix matrix) {
  return seeded_key(seed, SeededUse::parameter, (index(chunk) * 65536 + layer) * 4 + static_cast<std::size_t>(matrix));
}
/// The number of consecutive branches (mlp or attention) that train well without scaling. In a deeper model each
/// contributes less, because all add to one sum.
inline constexpr std::size_t shallow = 16;
/// depth / shallow, at least 1.
[[nodiscard]] constexpr double excess_depth(std::size_t depth) {
  return depth > shallow ? static_cast<double>(depth) / static_cast<double>(shallow) : 1;
}

/// Keeps the variance through a matrix with this many rows. Matrices that end a branch start at a fifth of that,
/// divided by the square root of excess_depth(depth) for a model of `depth` branches. Chains of chunks then start near
/// the identity, and their loss does not grow with depth.
[[nodiscard]] inline float parameter_limit(Matrix matrix, std::size_t rows, std::size_t depth) {
  const bool ends_branch = matrix == Matrix::projection || matrix == Matrix::down;
  const float part = ends_branch ? 0.2F / std::sqrt(static_cast<float>(excess_depth(depth))) : 1.0F;
  return part * unit_variance / std::sqrt(static_cast<float>(rows));
}

} // namespace ppsim::runtime
