#include "ppsim/runtime/seeded.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "check.hpp"
#include "kernels.hpp"
#ifndef __CUDACC__
#  include "emulated_launch.hpp" // of tests, on machines without a GPU: by a loop over the threads of a kernel
#endif

namespace ppsim::runtime::gpu {

namespace {

#ifdef __CUDACC__
/// A power of two, because sums over a block halve it.
constexpr std::size_t block_threads = 256;

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::size_t blocks, std::size_t threads, cudaStream_t stream,
            Arguments... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(arguments...);
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  const char* name = nullptr;
  static_cast<void>(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
  check(status, __FILE__, __LINE__, name == nullptr ? "a kernel" : name);
}
#endif

constexpr std::size_t block = block_threads;

std::size_t blocks_for(std::size_t size) {
  // A loop in each thread handles the rest: enough blocks for any partition.
  return std::clamp<std::size_t>((size + block - 1) / block, 1, 4096);
}

/// Applies `function` to the elements of a thread, for elementwise kernels.
template <class Function>
__device__ void for_each_element(std::size_t size, Function function) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    function(i);
}

/// Sum over the threads of the block, always in the same order; every thread gets it. `shared` has one number per
/// thread.
template <class Number>
__device__ Number block_sum(Number value, Number* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const Number sum = shared[0];
  __syncthreads(); // before the next one writes
  return sum;
}

__device__ float block_max(float value, float* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  const float largest = shared[0];
  __syncthreads();
  return largest;
}

__device__ float number(Bf16 value) {
  return __bfloat162float(value);
}
__device__ Bf16 rounded(float value) {
  return __float2bfloat16_rn(value);
}

/// One block per row, here and below.
__global__ void norm_forward_kernel(const Bf16* x, Bf16* normed, float* inverse_deviation, std::size_t columns) {
  __shared__ float shared[block];
  constexpr float epsilon = 1e-5F; // keeps rows of equal numbers finite
  const std::size_t begin = blockIdx.x * columns;
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < columns; i += blockDim.x) sum += number(x[begin + i]);
  const float mean = block_sum(sum, shared) / static_cast<float>(columns);
  float squares = 0;
  for (std::size_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float centered = number(x[begin + i]) - mean;
    squares += centered * centered;
  }
  const float inverse = rsqrtf(block_sum(squares, shared) / static_cast<float>(columns) + epsilon);
  for (std::size_t i = threadIdx.x; i < columns; i += blockDim.x)
    normed[begin + i] = rounded((number(x[begin + i]) - mean) * inverse);
  if (threadIdx.x == 0) inverse_deviation[blockIdx.x] = inverse;
}

__global__ void norm_backward_kernel(const Bf16* dnormed, const Bf16* normed, const float* inverse_deviation,
                                     const Bf16* dy, Bf16* dx, std::size_t columns) {
  __shared__ float shared[block];
  const std::size_t begin = blockIdx.x * columns;
  float sum = 0;
  float products = 0;
  for (std::size_t i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += number(dnormed[begin + i]);
    products += number(dnormed[begin + i]) * number(normed[begin + i]);
  }
  const float mean = block_sum(sum, shared) / static_cast<float>(columns);
  const float along = block_sum(products, shared) / static_cast<float>(columns);
  const float inverse = inverse_deviation[blockIdx.x];
  for (std::size_t i = threadIdx.x; i < columns; i += blockDim.x)
    dx[begin + i] = rounded(number(dy[begin + i]) +
                            inverse * (number(dnormed[begin + i]) - mean - number(normed[begin + i]) * along));
}

constexpr float gelu_slope = 1.5957691F; // 2 sqrt(2/pi)
constexpr float gelu_cubic = 0.044715F;

__global__ void gelu_forward_kernel(const Bf16* x, Bf16* out, std::size_t size) {
  for_each_element(size, [=](std::size_t i) {
    const float value = number(x[i]);
    const float twice_u = gelu_slope * (value + gelu_cubic * value * value * value);
    out[i] = rounded(value / (1.0F + expf(-twice_u)));
  });
}

__global__ void gelu_backward_kernel(const Bf16* gradient, Bf16* x, std::size_t size) {
  for_each_element(size, [=](std::size_t i) {
    const float value = number(x[i]);
    const float twice_u = gelu_slope * (value + gelu_cubic * value * value * value);
    const float share = 1.0F / (1.0F + expf(-twice_u));
    const float slope = gelu_slope * (1.0F + 3.0F * gelu_cubic * value * value);
    x[i] = rounded(number(gradient[i]) * (share + value * share * (1.0F - share) * slope));
  });
}

__global__ void causal_softmax_kernel(const float* scores, Bf16* weights, std::size_t tokens) {
  __shared__ float shared[block];
  const std::size_t begin = blockIdx.x * tokens;
  const std::size_t seen = blockIdx.x % tokens + 1;
  float largest = scores[begin];
  for (std::size_t i = threadIdx.x; i < seen; i += blockDim.x) largest = fmaxf(largest, scores[begin + i]);
  largest = block_max(largest, shared);
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < seen; i += blockDim.x) sum += expf(scores[begin + i] - largest);
  sum = block_sum(sum, shared);
  for (std::size_t i = threadIdx.x; i < tokens; i += blockDim.x)
    weights[begin + i] = rounded(i < seen ? expf(scores[begin + i] - largest) / sum : 0.0F);
}

/// ds = p (dp - sum(dp p)); masked positions have p = 0 and no gradient.
__global__ void softmax_backward_kernel(const float* dweights, const Bf16* weights, Bf16* dscores, float factor,
                                        std::size_t tokens) {
  __shared__ float shared[block];
  const std::size_t begin = blockIdx.x * tokens;
  float products = 0;
  for (std::size_t i = threadIdx.x; i < tokens; i += blockDim.x)
    products += dweights[begin + i] * number(weights[begin + i]);
  products = block_sum(products, shared);
  for (std::size_t i = threadIdx.x; i < tokens; i += blockDim.x)
    dscores[begin + i] = rounded(factor * number(weights[begin + i]) * (dweights[begin + i] - products));
}

__global__ void loss_kernel(const Bf16* y, Bf16* dy, std::size_t size, std::size_t columns, LossKeys keys,
                            double* partial) {
  __shared__ double shared[block];
  double squares = 0;
  const float share = 1.0F / static_cast<float>(size);
  for_each_element(size, [&](std::size_t i) {
    const float target = target_value(input_value(keys.input, i), target_shift(keys.target, i % columns));
    const float difference = number(y[i]) - target;
    squares += static_cast<double>(difference) * static_cast<double>(difference);
    dy[i] = rounded(difference * share);
  });
  squares = block_sum(squares, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = squares;
}

/// One thread, so that the order of the sum is fixed; there are few numbers.
__global__ void add_loss_kernel(const double* partial, std::size_t count, std::size_t size, double* total) {
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) squares += partial[i];
  *total += squares / (2.0 * static_cast<double>(size));
}

__global__ void make_parameters_kernel(Bf16* parameters, float* master, std::size_t size, std::uint32_t key,
                                       float limit) {
  for_each_element(size, [=](std::size_t i) {
    const float value = limit * seeded_value(key, static_cast<std::uint32_t>(i));
    master[i] = value;
    parameters[i] = rounded(value);
  });
}

__global__ void make_activation_kernel(Bf16* x, std::size_t size, std::uint32_t key) {
  for_each_element(size, [=](std::size_t i) { x[i] = rounded(input_value(key, i)); });
}

__global__ void add_kernel(float* sum, const float* others, std::size_t size) {
  for_each_element(size, [=](std::size_t i) { sum[i] += others[i]; });
}

__global__ void sgd_kernel(Bf16* parameters, float* master, const float* gradients, std::size_t size, float step) {
  for_each_element(size, [=](std::size_t i) {
    master[i] -= step * gradients[i];
    parameters[i] = rounded(master[i]);
  });
}

/// Kingma and Ba 2015, algorithm 1.
__global__ void adam_kernel(Bf16* parameters, float* master, float* first, float* second, const float* gradients,
                            std::size_t size, AdamFactors factors) {
  for_each_element(size, [=](std::size_t i) {
    const float gradient = gradients[i] * factors.gradient_factor;
    first[i] += factors.first_share * (gradient - first[i]);
    second[i] += factors.second_share * (gradient * gradient - second[i]);
    master[i] -= factors.step * first[i] / (sqrtf(second[i] * factors.second_correction) + factors.epsilon);
    parameters[i] = rounded(master[i]);
  });
}

__device__ std::uint64_t globaltimer() {
#ifdef __CUDACC__
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); // nanoseconds (PTX ISA, special registers)
  return now;
#else
  return emulated_globaltimer();
#endif
}

__global__ void store_globaltimer_kernel(std::uint64_t* to) {
  *to = globaltimer();
}

__global__ void wait_past_kernel(const std::uint64_t* since, std::int64_t nanoseconds) {
  const std::uint64_t until = *since + static_cast<std::uint64_t>(nanoseconds);
  // Signed, because `until` may be long past.
  while (static_cast<std::int64_t>(until - globaltimer()) > 0) {
#ifdef __CUDACC__
    __nanosleep(200); // steps far below a task's length
#endif
  }
}

__global__ void copy_kernel(uint4* to, const uint4* from, std::size_t size) {
  for_each_element(size, [=](std::size_t i) { to[i] = from[i]; });
}

__global__ void copy_bytes_kernel(unsigned char* to, const unsigned char* from, std::size_t size) {
  for_each_element(size, [=](std::size_t i) { to[i] = from[i]; });
}

} // namespace

void norm_forward(const Bf16* x, Bf16* normed, float* inverse_deviation, Extent extent, cudaStream_t stream) {
  launch(norm_forward_kernel, extent.rows, block, stream, x, normed, inverse_deviation, extent.columns);
}

void norm_backward(const Bf16* dnormed, const Bf16* normed, const float* inverse_deviation, const Bf16* dy, Bf16* dx,
                   Extent extent, cudaStream_t stream) {
  launch(norm_backward_kernel, extent.rows, block, stream, dnormed, normed, inverse_deviation, dy, dx, extent.columns);
}

void gelu_forward(const Bf16* x, Bf16* out, std::size_t size, cudaStream_t stream) {
  launch(gelu_forward_kernel, blocks_for(size), block, stream, x, out, size);
}

void gelu_backward(const Bf16* gradient, Bf16* x, std::size_t size, cudaStream_t stream) {
  launch(gelu_backward_kernel, blocks_for(size), block, stream, gradient, x, size);
}

void causal_softmax(const float* scores, Bf16* weights, std::size_t heads, std::size_t tokens, cudaStream_t stream) {
  launch(causal_softmax_kernel, heads * tokens, block, stream, scores, weights, tokens);
}

void softmax_backward(const float* dweights, const Bf16* weights, Bf16* dscores, float factor, std::size_t heads,
                      std::size_t tokens, cudaStream_t stream) {
  launch(softmax_backward_kernel, heads * tokens, block, stream, dweights, weights, dscores, factor, tokens);
}

void loss_and_gradient(const Bf16* y, Bf16* dy, Extent extent, LossKeys keys, double* partial, double* total,
                       cudaStream_t stream) {
  launch(loss_kernel, loss_blocks, block, stream, y, dy, extent.size(), extent.columns, keys, partial);
  launch(add_loss_kernel, 1, 1, stream, partial, loss_blocks, extent.size(), total);
}

void make_parameters(Bf16* parameters, float* master, std::size_t size, std::uint32_t key, float limit,
                     cudaStream_t stream) {
  launch(make_parameters_kernel, blocks_for(size), block, stream, parameters, master, size, key, limit);
}

void make_activation(Bf16* x, std::size_t size, std::uint32_t key, cudaStream_t stream) {
  launch(make_activation_kernel, blocks_for(size), block, stream, x, size, key);
}

void add(float* sum, const float* others, std::size_t size, cudaStream_t stream) {
  launch(add_kernel, blocks_for(size), block, stream, sum, others, size);
}

void sgd_step(Bf16* parameters, float* master, const float* gradients, std::size_t size, float step,
              cudaStream_t stream) {
  launch(sgd_kernel, blocks_for(size), block, stream, parameters, master, gradients, size, step);
}

void adam_step(Bf16* parameters, float* master, float* first, float* second, const float* gradients, std::size_t size,
               AdamFactors factors, cudaStream_t stream) {
  launch(adam_kernel, blocks_for(size), block, stream, parameters, master, first, second, gradients, size, factors);
}

void store_globaltimer(std::uint64_t* to, cudaStream_t stream) {
  launch(store_globaltimer_kernel, 1, 1, stream, to);
}

void wait_past(const std::uint64_t* since, std::int64_t nanoseconds, cudaStream_t stream) {
  launch(wait_past_kernel, 1, 1, stream, since, nanoseconds);
}

void copy_by_kernel(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  constexpr std::size_t most_blocks = 32;
  const std::size_t whole = bytes / sizeof(uint4);
  const std::size_t rest = bytes % sizeof(uint4);
  if (whole > 0)
    launch(copy_kernel, std::min(blocks_for(whole), most_blocks), block, stream, static_cast<uint4*>(to),
           static_cast<const uint4*>(from), whole);
  if (rest > 0)
    launch(copy_bytes_kernel, 1, block, stream, static_cast<unsigned char*>(to) + whole * sizeof(uint4),
           static_cast<const unsigned char*>(from) + whole * sizeof(uint4), rest);
}

} // namespace ppsim::runtime::gpu
