#pragma once
// The processor's elementwise loops: everything that a task computes besides matrix products. Compiled for plain x86-64
// (or the machine's default) and for AVX2, and selected at run time. Sums do not depend on alignment, so that equal
// numbers give equal bits in any buffer.

#include "ppsim/runtime/adam.hpp"

#include <cstddef>
#include <cstdint>

#include "blas.hpp"

namespace ppsim::runtime {

/// Matrices are row-major without gaps. Outputs do not overlap inputs unless stated.
struct HostLoops {
  const char* name; ///< "AVX2"
  void (*multiply)(const Product& product);
  /// Normalises every row to mean 0 and variance 1 (layer normalisation without affine part: Ba et al. 2016, eq. 3).
  void (*normalise)(const float* x, std::size_t rows, std::size_t columns, float* normed, float* inverse_deviation);
  /// dx = dy + the gradient of normalise, from that of `normed`.
  void (*normalise_back)(const float* gradient, const float* normed, const float* inverse_deviation, std::size_t rows,
                         std::size_t columns, const float* dy, float* dx);
  /// x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): gelu in its tanh form (Hendrycks and Gimpel 2016, sec. 2).
  void (*gelu)(const float* x, std::size_t count, float* out);
  /// Replaces x by its gradient, from that of the output.
  void (*gelu_back)(const float* gradient, std::size_t count, float* x);
  /// Replaces row r of a square matrix by the softmax of its first r + 1 numbers, and zeros.
  void (*causal_softmax)(float* scores, std::size_t rows);
  /// Replaces `gradient` of the probabilities by that of the scores.
  void (*softmax_back)(const float* probabilities, std::size_t rows, float* gradient);
  void (*draw_input)(std::uint32_t key, std::size_t count, float* x);
  void (*draw_parameters)(std::uint32_t key, float limit, std::size_t count, float* out);
  /// Sum over a row of (y - target)^2; sets `gradient` to (y - target) * factor. `first` is the row's first position.
  float (*loss_row)(const float* y, const float* shifts, std::uint32_t key, std::size_t first, std::size_t columns,
                    float factor, float* gradient);
  void (*add)(const float* first, const float* second, std::size_t count, float* out); ///< `out` may be either
  void (*sgd)(const float* gradient, float step, std::size_t count, float* parameters);
  void (*adam)(const float* gradient, const AdamFactors& factors, std::size_t count, float* parameters, float* first,
               float* second);
};

/// The fastest loops that this processor supports.
[[nodiscard]] const HostLoops& host_loops();
/// The loops that every processor supports.
[[nodiscard]] const HostLoops& portable_loops();

} // namespace ppsim::runtime
