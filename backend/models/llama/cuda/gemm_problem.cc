#include "backend/models/llama/cuda/gemm_problem.h"

#include "backend/models/llama/cuda/gemm_call.h"

namespace syncopate::models::llama {
namespace {

constexpr float kOne = 1.0F, kZero = 0.0F;

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         Value value) {
  SYNCOPATE_CUBLAS_CALL(
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
}

}  // namespace

GemmProblem::GemmProblem(cublasLtHandle_t handle, const GemmShape& shape)
    : handle_(handle), shape_(shape) {
  SYNCOPATE_CUBLAS_CALL(cublasLtMatmulDescInit(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  SYNCOPATE_CUBLAS_CALL(cublasLtMatmulDescSetAttribute(&product_, CUBLASLT_MATMUL_DESC_TRANSA,
                                                       &transposed, sizeof(transposed)));
  const auto [rows, out, in, fp32_out] = shape;
  SYNCOPATE_CUBLAS_CALL(cublasLtMatrixLayoutInit(&weights_, CUDA_R_16BF, in, out, in));
  SYNCOPATE_CUBLAS_CALL(cublasLtMatrixLayoutInit(&x_, CUDA_R_16BF, in, rows, in));
  SYNCOPATE_CUBLAS_CALL(
      cublasLtMatrixLayoutInit(&y_, fp32_out ? CUDA_R_32F : CUDA_R_16BF, out, rows, out));
}

GemmProblem::Algorithm GemmProblem::unsplit() const {
  return proposals(1, CUBLASLT_REDUCTION_SCHEME_NONE, 0).front();
}

std::vector<GemmProblem::Algorithm> GemmProblem::proposals(int most) const {
  return proposals(most, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, Gemm::kScratchBytes);
}

std::vector<GemmProblem::Algorithm> GemmProblem::proposals(int most, std::uint32_t reductions,
                                                           std::size_t scratch) const {
  cublasLtMatmulPreferenceOpaque_t preference;
  SYNCOPATE_CUBLAS_CALL(cublasLtMatmulPreferenceInit(&preference));
  set(&preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  set(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{scratch});
  // The weights are aligned to what the library expects unasked.
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Gemm::kAlignment);
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Gemm::kAlignment);
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Gemm::kAlignment);

  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int count = 0;
  SYNCOPATE_CUBLAS_CALL(cublasLtMatmulAlgoGetHeuristic(handle_, &product_, &weights_, &x_, &y_, &y_,
                                                       &preference, most, results.data(), &count));
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < count; ++i) algorithms.push_back(results[static_cast<std::size_t>(i)].algo);
  return algorithms;
}

GemmProblem::Algorithm GemmProblem::split(Algorithm algorithm, std::int32_t parts) {
  const std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  SYNCOPATE_CUBLAS_CALL(cublasLtMatmulAlgoConfigSetAttribute(
      &algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof(parts)));
  SYNCOPATE_CUBLAS_CALL(cublasLtMatmulAlgoConfigSetAttribute(
      &algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &reduction, sizeof(reduction)));
  return algorithm;
}

bool GemmProblem::supports(const Algorithm& algorithm) const {
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle_, &product_, &weights_, &x_, &y_, &y_, &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= Gemm::kScratchBytes;
}

cublasStatus_t GemmProblem::enqueue(cudaStream_t stream, const Algorithm& algorithm,
                                    const Bf16* weights, const Bf16* x, void* y,
                                    std::byte* scratch) const {
  return cublasLtMatmul(handle_, &product_, &kOne, weights, &weights_, x, &x_, &kZero, y, &y_, y,
                        &y_, &algorithm, scratch, Gemm::kScratchBytes, stream);
}

}  // namespace syncopate::models::llama
