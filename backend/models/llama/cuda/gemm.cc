#include "backend/models/llama/cuda/gemm.h"

#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/device.h"
#include "backend/models/llama/cuda/gemm_cache.h"
#include "backend/models/llama/cuda/gemm_call.h"
#include "backend/models/llama/cuda/gemm_problem.h"
#include "backend/models/llama/cuda/gemm_timing.h"

namespace syncopate::models::llama {
namespace {

std::string current_device_name() {
  int device = 0;
  SYNCOPATE_CUDA_CALL(cudaGetDevice(&device));
  return cuda::describe_device(device).name;
}

std::string to_string(const GemmShape& shape) {
  return std::to_string(shape.rows) + " rows, " + std::to_string(shape.in) + " -> " +
         std::to_string(shape.out) + (shape.fp32_out ? " (fp32)" : " (bf16)");
}

}  // namespace

struct Gemm::State {
  struct DestroyHandle {
    void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
  };
  using OwnedHandle = std::unique_ptr<cublasLtContext, DestroyHandle>;
  struct Choice {
    GemmProblem problem;
    GemmProblem::Algorithm algorithm;
  };

  static OwnedHandle make_handle() {
    cublasLtHandle_t made = nullptr;
    SYNCOPATE_CUBLAS_CALL(cublasLtCreate(&made));
    return OwnedHandle(made);
  }

  explicit State(GemmOptions given)
      : options(std::move(given)),
        cache(options.cache, current_device_name(), cublasLtGetVersion()) {}

  /// The shape that a product of `shape` is put together from.
  GemmShape block(GemmShape shape) const {
    if (options.invariant) {
      if (shape.rows % kInvariantRows != 0)
        throw runtime::UsageError("invariant products come in blocks of " +
                                  std::to_string(kInvariantRows) + " rows, not " +
                                  to_string(shape));
      shape.rows = kInvariantRows;
    }
    return shape;
  }

  /// From the cache, or else by timing, which `tuning` then counts.
  GemmProblem::Algorithm choose(const GemmProblem& problem, std::span<const DeviceMatrix> weights,
                                GemmTuning& tuning);

  GemmOptions options;
  OwnedHandle handle = make_handle();
  GemmCache cache;
  std::map<GemmShape, Choice> choices;
};

GemmProblem::Algorithm Gemm::State::choose(const GemmProblem& problem,
                                           std::span<const DeviceMatrix> weights,
                                           GemmTuning& tuning) {
  const GemmShape& shape = problem.shape();
  if (const GemmChoice* known = cache.find(shape)) {
    const auto algorithm = std::bit_cast<GemmProblem::Algorithm>(known->algorithm);
    if (problem.supports(algorithm)) return algorithm;
  }
  std::vector<const Bf16*> matrices;
  for (const DeviceMatrix& matrix : weights)
    if (matrix.out == shape.out && matrix.in == shape.in) matrices.push_back(matrix.values);
  if (matrices.empty())
    throw runtime::UsageError("there is no matrix to time products with: " + to_string(shape));
  const TimedAlgorithm best = fastest_algorithm(problem, matrices);
  cache.add(shape,
            {std::bit_cast<decltype(GemmChoice::algorithm)>(best.algorithm), best.microseconds});
  ++tuning.timed;
  return best.algorithm;
}

Gemm::Gemm(GemmOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Gemm::~Gemm() = default;

GemmTuning Gemm::tune(std::span<const GemmShape> shapes, std::span<const DeviceMatrix> weights) {
  GemmTuning tuning;
  for (const GemmShape& shape : shapes) {
    if (shape.rows == 0 || shape.out == 0 || shape.in == 0)
      throw runtime::UsageError("a product without elements: " + to_string(shape));
    const GemmShape block = state_->block(shape);
    if (state_->choices.contains(block)) continue;
    const GemmProblem problem(state_->handle.get(), block);
    const GemmProblem::Algorithm algorithm =
        state_->options.invariant ? problem.unsplit() : state_->choose(problem, weights, tuning);
    state_->choices.emplace(block, State::Choice{problem, algorithm});
  }
  if (tuning.timed > 0 && !state_->options.cache.empty())
    tuning.cache_problem = state_->cache.write();
  return tuning;
}

void Gemm::enqueue(cudaStream_t stream, const DeviceMatrix& weights, const Bf16* x,
                   std::uint32_t rows, void* y, bool fp32_out, std::byte* scratch) const {
  const GemmShape shape{rows, weights.out, weights.in, fp32_out};
  const GemmShape block = state_->block(shape);
  const auto found = state_->choices.find(block);
  if (found == state_->choices.end())
    throw runtime::UsageError("a product that was not tuned: " + to_string(shape));
  const auto& [problem, algorithm] = found->second;
  const std::size_t y_stride = std::size_t{weights.out} * (fp32_out ? sizeof(float) : sizeof(Bf16));
  for (std::uint32_t row = 0; row < rows; row += block.rows)
    SYNCOPATE_CUBLAS_CALL(problem.enqueue(stream, algorithm, weights.values,
                                          x + std::size_t{row} * weights.in,
                                          static_cast<std::byte*>(y) + row * y_stride, scratch));
}

}  // namespace syncopate::models::llama
