// One product as cuBLASLt sees it.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <vector>

#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/gemm.h"

namespace syncopate::models::llama {

/// The description of a product of some shape, made once: running it allocates nothing. Plain data;
/// safe to use from any thread. The library thinks in columns, so what it computes is
/// y^T[out, rows] = (W^T)^T x^T, the same bytes.
class GemmProblem {
 public:
  using Algorithm = cublasLtMatmulAlgo_t;

  /// `handle` must outlive it. Throws CublasError for a shape with an extent of 0.
  GemmProblem(cublasLtHandle_t handle, const GemmShape& shape);

  const GemmShape& shape() const { return shape_; }

  /// The library's own choice among the algorithms that sum each element in one sequence and need
  /// no scratch.
  Algorithm unsplit() const;
  /// The library's own list, best first, of at most `most` algorithms, at least one. Those that
  /// split the sum add the parts in fp32, in a fixed order, so that a run can be repeated bit for
  /// bit.
  std::vector<Algorithm> proposals(int most) const;
  /// `algorithm` with the sum in `parts` parts, added as in proposals(). The library may not have
  /// it.
  static Algorithm split(Algorithm algorithm, std::int32_t parts);
  /// Whether the library has this algorithm for this shape, within Gemm::kScratchBytes.
  bool supports(const Algorithm& algorithm) const;

  /// As Gemm::enqueue.
  cublasStatus_t enqueue(cudaStream_t stream, const Algorithm& algorithm, const Bf16* weights,
                         const Bf16* x, void* y, std::byte* scratch) const;

 private:
  std::vector<Algorithm> proposals(int most, std::uint32_t reductions, std::size_t scratch) const;

  cublasLtHandle_t handle_;
  GemmShape shape_;
  // The library takes these by pointers to what is not const, and leaves them as they are.
  mutable cublasLtMatmulDescOpaque_t product_;
  mutable cublasLtMatrixLayoutOpaque_t weights_, x_, y_;
};

}  // namespace syncopate::models::llama
