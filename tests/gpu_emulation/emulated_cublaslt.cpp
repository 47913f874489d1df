// cublasLt on the emulated GPU: column-major matrix products in fp32, summed in order of the inner dimension. Refuses
// what the real one would refuse.

#include <cuda_bf16.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine.hpp"
#include <cublasLt.h>

using ppsim::emulation::is_set;
using ppsim::emulation::refuse;

namespace {

struct Descriptor {
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
};
struct Layout {
  cudaDataType type{};
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int64_t stride = 0;
  std::int32_t batches = 1;
};
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};
struct Algorithm {
  std::uint32_t alignment[4];
  std::int32_t splits;
};

template <class Real, class Opaque>
Real& real(Opaque* opaque) {
  static_assert(sizeof(Real) <= sizeof(Opaque));
  return *reinterpret_cast<Real*>(opaque);
}

float value(const void* data, cudaDataType type, std::size_t at) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[at];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]);
}

template <class T>
void set(T& target, const void* from, std::size_t size) {
  if (size != sizeof(T)) refuse("cublasLt: an attribute has another size");
  std::memcpy(&target, from, size);
}

void multiply(const Descriptor& descriptor, float alpha, float beta, const Layout* layouts, const void* const* data,
              void* out) {
  const auto& [a, b, c, d] = *reinterpret_cast<const Layout(*)[4]>(layouts);
  const std::uint64_t inner = descriptor.a == CUBLAS_OP_T ? a.rows : a.columns;
  for (std::int32_t batch = 0; batch < d.batches; ++batch)
    for (std::uint64_t column = 0; column < d.columns; ++column)
      for (std::uint64_t row = 0; row < d.rows; ++row) {
        const auto at = [&](const Layout& it, std::uint64_t i, std::uint64_t j) {
          return static_cast<std::size_t>(batch * it.stride) + i + j * static_cast<std::size_t>(it.leading);
        };
        float sum = 0;
        for (std::uint64_t k = 0; k < inner; ++k)
          sum += value(data[0], a.type, descriptor.a == CUBLAS_OP_T ? at(a, k, row) : at(a, row, k)) *
                 value(data[1], b.type, descriptor.b == CUBLAS_OP_T ? at(b, column, k) : at(b, k, column));
        float result = alpha * sum;
        if (beta != 0) result += beta * value(data[2], c.type, at(c, row, column)); // otherwise it is not read
        if (d.type == CUDA_R_32F)
          static_cast<float*>(out)[at(d, row, column)] = result;
        else
          static_cast<__nv_bfloat16*>(out)[at(d, row, column)] = __float2bfloat16_rn(result);
      }
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int{0});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t) {
  return "emulated";
}
const char* cublasLtGetStatusString(cublasStatus_t) {
  return "emulated";
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) refuse("cublasLt: sums are to be in fp32");
  *descriptor = new cublasLtMatmulDescOpaque_t{};
  real<Descriptor>(*descriptor) = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, std::size_t size) {
  auto& it = real<Descriptor>(descriptor);
  std::int32_t target = 0;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    set(it.a, from, size);
  else if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
    set(it.b, from, size);
  else if (attribute == CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET)
    set(target, from, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  if (leading < static_cast<std::int64_t>(rows)) refuse("cublasLt: columns overlap");
  *layout = new cublasLtMatrixLayoutOpaque_t{};
  real<Layout>(*layout) = {type, rows, columns, leading, 0, 1};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* from,
                                                std::size_t size) {
  auto& it = real<Layout>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    set(it.batches, from, size);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    set(it.stride, from, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t{};
  real<Preference>(*preference) = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
                                                    std::size_t size) {
  auto& it = real<Preference>(preference);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    set(it.workspace, from, size);
    break;
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    set(it.reductions, from, size);
    break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    set(it.alignment[0], from, size);
    break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    set(it.alignment[1], from, size);
    break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    set(it.alignment[2], from, size);
    break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    set(it.alignment[3], from, size);
    break;
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  const auto& op = real<Descriptor>(descriptor);
  const auto& la = real<Layout>(a);
  const auto& lb = real<Layout>(b);
  const auto& lc = real<Layout>(c);
  const auto& ld = real<Layout>(d);
  const auto& wanted = real<Preference>(preference);
  const bool deaf = is_set("PPSIM_EMULATION_NO_MASK_NONE");
  if (deaf && wanted.reductions == CUBLASLT_REDUCTION_SCHEME_NONE) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto turned = [](cublasOperation_t operation) { return operation == CUBLAS_OP_T; };
  const std::uint64_t rows = turned(op.a) ? la.columns : la.rows;
  const std::uint64_t inner = turned(op.a) ? la.rows : la.columns;
  const std::uint64_t columns = turned(op.b) ? lb.rows : lb.columns;
  if ((turned(op.b) ? lb.columns : lb.rows) != inner || ld.rows != rows || ld.columns != columns)
    refuse("cublasLt: the matrices do not fit together");
  if (la.batches != ld.batches || lb.batches != ld.batches || lc.batches != ld.batches)
    refuse("cublasLt: batches of other sizes");
  if (la.type != CUDA_R_16BF || lb.type != CUDA_R_16BF || lc.type != ld.type) refuse("cublasLt: types it has not");
  if (most < 2) refuse("cublasLt: of all algorithms the first splits its sums");
  *count = 2;
  for (int i = 0; i < *count; ++i) {
    found[i] = {};
    found[i].state = CUBLAS_STATUS_SUCCESS;
    auto& algorithm = real<Algorithm>(&found[i].algo);
    std::memcpy(algorithm.alignment, wanted.alignment, sizeof algorithm.alignment);
    algorithm.splits = i == 0 ? 4 : 1; // whatever the mask says
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* to,
                                                    std::size_t size, std::size_t* written) {
  cublasLtMatmulAlgo_t copy = *algo;
  const std::int32_t splits = real<Algorithm>(&copy).splits;
  const std::uint32_t scheme = splits > 1 ? CUBLASLT_REDUCTION_SCHEME_INPLACE : CUBLASLT_REDUCTION_SCHEME_NONE;
  if (size != sizeof splits) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
    std::memcpy(to, &splits, size);
  else if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)
    std::memcpy(to, &scheme, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t, cudaStream_t stream) {
  cublasLtMatmulAlgo_t copy = *algo;
  const auto& algorithm = real<Algorithm>(&copy);
  if (algorithm.splits != 1) refuse("cublasLt: sums are split among blocks");
  const void* const data[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(data[i]) % algorithm.alignment[i] != 0)
      refuse("cublasLt: a matrix is not so aligned");
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) refuse("cublasLt: the workspace is not aligned");
  struct Call {
    Descriptor descriptor;
    Layout layouts[4];
    const void* data[4];
    float alpha, beta;
  };
  Call call{real<Descriptor>(descriptor),
            {real<Layout>(la), real<Layout>(lb), real<Layout>(lc), real<Layout>(ld)},
            {a, b, c, d},
            *static_cast<const float*>(alpha),
            *static_cast<const float*>(beta)};
  ppsim::emulation::Engine::get().append(stream, [call, d] {
    multiply(call.descriptor, call.alpha, call.beta, call.layouts, call.data, d);
    return true;
  });
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
