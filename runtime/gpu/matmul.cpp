#include "matmul.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "layout.hpp"

namespace ppsim::runtime::gpu {

namespace {

MatrixLayout make_layout(cudaDataType type, std::size_t rows, std::size_t columns, std::size_t leading,
                         std::size_t batches, std::size_t batch) {
  cublasLtMatrixLayout_t created = nullptr;
  PPSIM_GPU_CHECK(cublasLtMatrixLayoutCreate(&created, type, rows, columns, static_cast<std::int64_t>(leading)));
  MatrixLayout layout{created};
  if (batches > 1) {
    const auto count = static_cast<std::int32_t>(batches);
    const auto stride = static_cast<std::int64_t>(batch);
    PPSIM_GPU_CHECK(
        cublasLtMatrixLayoutSetAttribute(created, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    PPSIM_GPU_CHECK(
        cublasLtMatrixLayoutSetAttribute(created, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  }
  return layout;
}

/// The alignment of an address and a batch's matrices, as far as cublasLt uses it (its default is 256).
std::uint32_t alignment_of(const void* data, std::size_t batches, std::size_t batch_bytes) {
  const std::size_t bits = reinterpret_cast<std::uintptr_t>(data) | (batches > 1 ? batch_bytes : 0) | alignment;
  return static_cast<std::uint32_t>(bits & (~bits + 1)); // the lowest set bit
}

/// Whether blocks sum parts of the inner dimension, which are then added in an unspecified order. An attribute that the
/// algorithm does not have is at its default: no splitting.
bool splits_sums(const cublasLtMatmulAlgo_t& algorithm) {
  std::int32_t splits = 1;
  std::uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  const auto read = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& value) {
    auto got = value;
    std::size_t written = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &got, sizeof got, &written) ==
        CUBLAS_STATUS_SUCCESS)
      value = got;
  };
  read(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, splits);
  read(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, scheme);
  return splits > 1 || scheme != CUBLASLT_REDUCTION_SCHEME_NONE;
}

} // namespace

struct Matmul::Plan {
  MatmulDescriptor descriptor;
  MatrixLayout left, right, result;
  cublasLtMatmulAlgo_t algorithm{};
};

Matmul::Matmul(cublasLtHandle_t handle, std::size_t multiprocessors, void* workspace)
    : handle_{handle}, multiprocessors_{multiprocessors}, workspace_{workspace} {}
Matmul::~Matmul() = default;

/// cublasLt uses column-major matrices. Read that way, each row-major matrix is its transpose: result^T = right^T
/// left^T. So our right operand is its A, our left one its B.
std::unique_ptr<Matmul::Plan> Matmul::make_plan(const Shape& shape) const {
  auto plan = std::make_unique<Plan>();
  cublasLtMatmulDesc_t descriptor = nullptr;
  PPSIM_GPU_CHECK(cublasLtMatmulDescCreate(&descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  plan->descriptor.reset(descriptor);
  const cublasOperation_t turn_a = shape.right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t turn_b = shape.left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  // The heuristic does not take partitions into account.
  const auto target = static_cast<std::int32_t>(multiprocessors_);
  PPSIM_GPU_CHECK(cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, &turn_a, sizeof turn_a));
  PPSIM_GPU_CHECK(cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_TRANSB, &turn_b, sizeof turn_b));
  PPSIM_GPU_CHECK(
      cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &target, sizeof target));

  // A row of ours is a column in column-major order.
  const auto layout = [&](cudaDataType type, bool transposed, std::size_t rows, std::size_t columns, std::size_t row,
                          std::size_t batch) {
    return make_layout(type, transposed ? rows : columns, transposed ? columns : rows, row, shape.batches, batch);
  };
  plan->left = layout(CUDA_R_16BF, shape.left_transposed, shape.rows, shape.inner, shape.left_row, shape.left_batch);
  plan->right =
      layout(CUDA_R_16BF, shape.right_transposed, shape.inner, shape.columns, shape.right_row, shape.right_batch);
  plan->result = layout(shape.fp32 ? CUDA_R_32F : CUDA_R_16BF, false, shape.rows, shape.columns, shape.result_row,
                        shape.result_batch);

  cublasLtMatmulPreference_t created = nullptr;
  PPSIM_GPU_CHECK(cublasLtMatmulPreferenceCreate(&created));
  const MatmulPreference preference{created};
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    PPSIM_GPU_CHECK(cublasLtMatmulPreferenceSetAttribute(created, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.right_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.left_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.added_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.result_alignment);

  // NONE is 0: "Filters heuristic result to only include algo configs that use one of the required modes". The
  // documentation does not specify whether a mask without any mode filters, or leaves any result. So results are
  // checked, and otherwise all are requested next.
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (const auto mask : {CUBLASLT_REDUCTION_SCHEME_NONE, CUBLASLT_REDUCTION_SCHEME_MASK}) {
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(mask));
    std::array<cublasLtMatmulHeuristicResult_t, 16> found{};
    int count = 0;
    status = cublasLtMatmulAlgoGetHeuristic(handle_, descriptor, plan->right.get(), plan->left.get(),
                                            plan->result.get(), plan->result.get(), created,
                                            static_cast<int>(found.size()), found.data(), &count);
    if (status != CUBLAS_STATUS_SUCCESS) continue;
    const auto end = found.begin() + count;
    const auto unsplit = std::find_if(found.begin(), end, [](const cublasLtMatmulHeuristicResult_t& it) {
      return it.state == CUBLAS_STATUS_SUCCESS && !splits_sums(it.algo);
    });
    if (unsplit == end) continue;
    plan->algorithm = unsplit->algo;
    return plan;
  }
  const std::string reason = status == CUBLAS_STATUS_SUCCESS ? "all split its sums" : cublasLtGetStatusName(status);
  const bool odd = status == CUBLAS_STATUS_NOT_SUPPORTED;
  throw std::runtime_error{"cublasLt has no algorithm for a product of " + std::to_string(shape.rows) + " by " +
                           std::to_string(shape.inner) + " and " + std::to_string(shape.inner) + " by " +
                           std::to_string(shape.columns) + " (" + reason + ")" +
                           (odd ? ": use a width that is a multiple of 8 times the heads" : "")};
}

void Matmul::operator()(const Product& product, const Operand& left, const Operand& right, const Result& result,
                        cudaStream_t stream) {
  const std::size_t result_bytes = result.fp32 ? sizeof(float) : 2;
  const void* const added = result.added != nullptr ? result.added : result.data;
  const Shape shape{.rows = product.rows,
                    .columns = product.columns,
                    .inner = product.inner,
                    .batches = product.batches,
                    .left_row = left.row,
                    .left_batch = left.batch,
                    .right_row = right.row,
                    .right_batch = right.batch,
                    .result_row = result.row,
                    .result_batch = result.batch,
                    .left_transposed = left.transposed,
                    .right_transposed = right.transposed,
                    .fp32 = result.fp32,
                    .left_alignment = alignment_of(left.data, product.batches, 2 * left.batch),
                    .right_alignment = alignment_of(right.data, product.batches, 2 * right.batch),
                    .added_alignment = alignment_of(added, product.batches, result_bytes * result.batch),
                    .result_alignment = alignment_of(result.data, product.batches, result_bytes * result.batch)};
  std::unique_ptr<Plan>& plan = plans_[shape];
  if (!plan) plan = make_plan(shape);
  PPSIM_GPU_CHECK(cublasLtMatmul(handle_, plan->descriptor.get(), &product.factor, right.data, plan->right.get(),
                                 left.data, plan->left.get(), &product.kept, added, plan->result.get(), result.data,
                                 plan->result.get(), &plan->algorithm, workspace_, workspace_bytes, stream));
}

MatmulHandle make_matmul_handle() {
  cublasLtHandle_t handle = nullptr;
  PPSIM_GPU_CHECK(cublasLtCreate(&handle));
  return MatmulHandle{handle};
}

} // namespace ppsim::runtime::gpu
