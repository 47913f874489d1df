#pragma once
// Matmul: matrix products by cublasLt: bf16 in, bf16 or fp32 out, sums in fp32.

#include <cuda_runtime_api.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// A bf16 matrix in memory, row-major.
struct Operand {
  const void* data = nullptr;
  std::size_t row = 0;   ///< numbers from one row to the next
  std::size_t batch = 0; ///< and between the matrices of a batch
  bool transposed = false;
};

/// result [rows, columns] = factor * left [rows, inner] * right [inner, columns] + kept * added; `added` has the layout
/// of the result, and may be the result.
struct Product {
  std::size_t rows = 0, columns = 0, inner = 0;
  std::size_t batches = 1;
  float factor = 1;
  float kept = 0;
};
struct Result {
  void* data = nullptr;
  std::size_t row = 0;
  std::size_t batch = 0;
  bool fp32 = false;
  const void* added = nullptr; ///< null: the result
};

/// Products on one stream. For each shape, the first algorithm of cublasLt's heuristic that does not split sums among
/// blocks, found once: equal products are summed in the same order.
class Matmul {
public:
  /// `multiprocessors`: number in the partition; `workspace` has workspace_bytes.
  Matmul(cublasLtHandle_t handle, std::size_t multiprocessors, void* workspace);
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul();

  /// Throws std::runtime_error with the shape if cublasLt has no algorithm for it.
  void operator()(const Product& product, const Operand& left, const Operand& right, const Result& result,
                  cudaStream_t stream);

private:
  struct Shape {
    std::size_t rows, columns, inner, batches;
    std::size_t left_row, left_batch, right_row, right_batch, result_row, result_batch;
    bool left_transposed, right_transposed, fp32;
    std::uint32_t left_alignment, right_alignment, added_alignment, result_alignment;
    auto operator<=>(const Shape&) const = default;
  };
  struct Plan;
  [[nodiscard]] std::unique_ptr<Plan> make_plan(const Shape& shape) const;

  cublasLtHandle_t handle_;
  std::size_t multiprocessors_;
  void* workspace_;
  std::map<Shape, std::unique_ptr<Plan>> plans_;
};

/// A handle for the current device.
[[nodiscard]] MatmulHandle make_matmul_handle();

} // namespace ppsim::runtime::gpu
