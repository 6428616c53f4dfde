// Which of cuBLASLt's algorithms is fastest for a shape, by trying.
#pragma once

#include <span>

#include "backend/models/llama/cuda/gemm_problem.h"

namespace syncopate::models::llama {

struct TimedAlgorithm {
  GemmProblem::Algorithm algorithm;
  double microseconds;  ///< Of one product among others.
};

/// Times the library's proposals and, below 256 rows, variants of them that split
/// the sum; by graphs of products one after the other, each with the next of `matrices`, since that
/// is how a step runs them: weights come from memory and not from the cache. `matrices` has one at
/// least; where they would fit the cache, others of the same size are put beside them. Waits for
/// the device, whose other work would be in the measurement. Throws CudaError, CublasError, and
/// UnavailableError where there is no memory for x, y, scratch and those others.
TimedAlgorithm fastest_algorithm(const GemmProblem& problem, std::span<const Bf16* const> matrices);

}  // namespace syncopate::models::llama
