#pragma once
// The kernels of this plugin. All enqueue on `stream` and return; matrices are row-major. None uses atomics, so that
// equal inputs give equal bits.

#include "ppsim/runtime/adam.hpp"

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace ppsim::runtime::gpu {

using Bf16 = __nv_bfloat16;

/// Rows and columns.
struct Extent {
  std::size_t rows = 0;
  std::size_t columns = 0;
  [[nodiscard]] constexpr std::size_t size() const { return rows * columns; }
};

// Layers
/// Normalises every row to mean 0 and variance 1 (layer normalisation without affine part: Ba et al. 2016, equation 3).
void norm_forward(const Bf16* x, Bf16* normed, float* inverse_deviation, Extent extent, cudaStream_t stream);
/// dx = dy + the gradient of the normalised input, from that of the result.
void norm_backward(const Bf16* dnormed, const Bf16* normed, const float* inverse_deviation, const Bf16* dy, Bf16* dx,
                   Extent extent, cudaStream_t stream);
/// x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): gelu in its tanh form (Hendrycks and Gimpel 2016, section 2).
void gelu_forward(const Bf16* x, Bf16* out, std::size_t size, cudaStream_t stream);
/// Replaces x by its gradient, from that of the output.
void gelu_backward(const Bf16* gradient, Bf16* x, std::size_t size, cudaStream_t stream);
/// Row i of each head: softmax of the first i + 1 scores, zero after them.
void causal_softmax(const float* scores, Bf16* weights, std::size_t heads, std::size_t tokens, cudaStream_t stream);
/// Gradient of the scores from that of the weights, times `factor`.
void softmax_backward(const float* dweights, const Bf16* weights, Bf16* dscores, float factor, std::size_t heads,
                      std::size_t tokens, cudaStream_t stream);

// Loss
inline constexpr std::size_t loss_blocks = 128;
struct LossKeys { ///< see seeded.hpp
  std::uint32_t input = 0;
  std::uint32_t target = 0;
};
/// Adds the mean of (y - target)^2 / 2 to `total`, with `partial` (loss_blocks numbers) as workspace; writes its
/// gradient to dy.
void loss_and_gradient(const Bf16* y, Bf16* dy, Extent extent, LossKeys keys, double* partial, double* total,
                       cudaStream_t stream);

// Parameters
/// A matrix's initial values, and their master copy; seeded.hpp has the keys.
void make_parameters(Bf16* parameters, float* master, std::size_t size, std::uint32_t key, float limit,
                     cudaStream_t stream);
void make_activation(Bf16* x, std::size_t size, std::uint32_t key, cudaStream_t stream);
void add(float* sum, const float* others, std::size_t size, cudaStream_t stream); ///< sum += others
/// `step`: learning rate / microbatches.
void sgd_step(Bf16* parameters, float* master, const float* gradients, std::size_t size, float step,
              cudaStream_t stream);
void adam_step(Bf16* parameters, float* master, float* first, float* second, const float* gradients, std::size_t size,
               AdamFactors factors, cudaStream_t stream);

// Time and transfers
void store_globaltimer(std::uint64_t* to, cudaStream_t stream);
/// Returns `nanoseconds` after *since on %globaltimer. Only one thread waits, so that the multiprocessor stays
/// available.
void wait_past(const std::uint64_t* since, std::int64_t nanoseconds, cudaStream_t stream);
/// A copy with few multiprocessors.
void copy_by_kernel(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

} // namespace ppsim::runtime::gpu
