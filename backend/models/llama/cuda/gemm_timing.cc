#include "backend/models/llama/cuda/gemm_timing.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/event.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/stream.h"
#include "backend/models/llama/cuda/gemm_call.h"

namespace syncopate::models::llama {
namespace {

using Algorithm = GemmProblem::Algorithm;

constexpr std::uint32_t kManyRows = 256;  // From here on there are tiles enough without a split.
constexpr int kProposals = 8;
constexpr std::int32_t kParts[] = {2, 3, 4, 5, 6, 8};

// A first look at all candidates in short graphs, then a longer one at those that were close. The
// lengths are what the first proposal needs for so long, within bounds.
constexpr double kLookMicroseconds = 250.0, kFinalMicroseconds = 1000.0;
constexpr std::size_t kLeastProducts = 2, kMostLookProducts = 8, kMostProducts = 32;
constexpr int kLooks = 2, kRounds = 5;
constexpr double kClose = 1.10;
constexpr std::size_t kMostFinalists = 8;

constexpr double kNever = std::numeric_limits<double>::infinity();

bool equal(const Algorithm& a, const Algorithm& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

std::vector<Algorithm> find_candidates(const GemmProblem& problem) {
  std::vector<Algorithm> candidates = problem.proposals(kProposals);
  if (problem.shape().rows >= kManyRows) return candidates;
  const std::size_t proposals = candidates.size();
  for (std::size_t i = 0; i < proposals; ++i) {
    for (const std::int32_t parts : kParts) {
      const Algorithm split = GemmProblem::split(candidates[i], parts);
      const auto same = [&](const Algorithm& other) { return equal(split, other); };
      if (problem.supports(split) && std::ranges::none_of(candidates, same))
        candidates.push_back(split);
    }
  }
  return candidates;
}

/// What a product needs besides the weights, and the clock.
class Bench {
 public:
  Bench(const GemmProblem& problem, std::span<const Bf16* const> matrices)
      : problem_(problem), matrices_(matrices.begin(), matrices.end()) {
    const auto [rows, out, in, fp32_out] = problem.shape();
    add_matrices(std::uint64_t{out} * in * sizeof(Bf16));
    x_ = cuda::make_device_memory(std::uint64_t{rows} * in * sizeof(Bf16));
    y_ = cuda::make_device_memory(std::uint64_t{rows} * out * (fp32_out ? 4 : 2));
    scratch_ = cuda::make_device_memory(Gemm::kScratchBytes);
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    // Weights as activations: zeros would draw less power than a step does.
    for (std::uint32_t row = 0; row < rows; row += out)
      SYNCOPATE_CUDA_CALL(
          cudaMemcpyAsync(static_cast<Bf16*>(x_.get()) + std::uint64_t{row} * in, matrices_.front(),
                          std::uint64_t{std::min(out, rows - row)} * in * sizeof(Bf16),
                          cudaMemcpyDeviceToDevice, stream_.get()));
  }

  /// Runs it once, so that it is loaded. False where the library refuses it.
  bool warm(const Algorithm& algorithm) { return enqueue(algorithm) == CUBLAS_STATUS_SUCCESS; }

  cuda::OwnedGraphExec record(const Algorithm& algorithm, std::size_t products) {
    cuda::begin_capture(stream_.get());
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (std::size_t i = 0; i < products && status == CUBLAS_STATUS_SUCCESS; ++i)
      status = enqueue(algorithm);
    const cuda::OwnedGraph graph = cuda::end_capture(stream_.get());
    SYNCOPATE_CUBLAS_CALL(status);
    return cuda::instantiate(graph, stream_.get());
  }

  /// Of the graph as a whole.
  double microseconds(const cuda::OwnedGraphExec& graph) {
    SYNCOPATE_CUDA_CALL(cudaEventRecord(begin_.get(), stream_.get()));
    SYNCOPATE_CUDA_CALL(cudaGraphLaunch(graph.get(), stream_.get()));
    SYNCOPATE_CUDA_CALL(cudaEventRecord(end_.get(), stream_.get()));
    SYNCOPATE_CUDA_CALL(cudaEventSynchronize(end_.get()));
    float milliseconds = 0.0F;
    SYNCOPATE_CUDA_CALL(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
    return 1e3 * milliseconds;
  }

 private:
  /// Until the cache cannot hold them. A shape of which kMostProducts do not fill it is of a model
  /// that it holds anyway.
  void add_matrices(std::uint64_t bytes) {
    int device = 0, cache = 0;
    SYNCOPATE_CUDA_CALL(cudaGetDevice(&device));
    SYNCOPATE_CUDA_CALL(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
    const std::uint64_t fill = 3 * static_cast<std::uint64_t>(cache);
    const std::size_t wanted = std::min<std::size_t>(fill / bytes + 1, kMostProducts);
    if (matrices_.size() >= wanted) return;
    const std::size_t others = wanted - matrices_.size();
    const std::uint64_t stride = (bytes + 255) / 256 * 256;
    others_ = cuda::make_device_memory(others * stride);
    for (std::size_t i = 0; i < others; ++i) {
      std::byte* const other = static_cast<std::byte*>(others_.get()) + i * stride;
      SYNCOPATE_CUDA_CALL(cudaMemcpyAsync(other, matrices_.front(), bytes, cudaMemcpyDeviceToDevice,
                                          cudaStreamLegacy));
      matrices_.push_back(reinterpret_cast<const Bf16*>(other));
    }
  }

  cublasStatus_t enqueue(const Algorithm& algorithm) {
    const Bf16* weights = matrices_[next_];
    next_ = (next_ + 1) % matrices_.size();
    return problem_.enqueue(stream_.get(), algorithm, weights, static_cast<const Bf16*>(x_.get()),
                            y_.get(), static_cast<std::byte*>(scratch_.get()));
  }

  const GemmProblem& problem_;
  std::vector<const Bf16*> matrices_;
  std::size_t next_ = 0;
  cuda::DeviceMemory others_, x_, y_, scratch_;
  cuda::OwnedStream stream_ = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  cuda::OwnedEvent begin_ = cuda::make_event(cuda::EventUse::kTiming);
  cuda::OwnedEvent end_ = cuda::make_event(cuda::EventUse::kTiming);
};

struct Entry {
  Algorithm algorithm;
  cuda::OwnedGraphExec graph;
  double microseconds;  ///< Of a product: the least so far, then the median.
};

bool faster(const Entry& a, const Entry& b) { return a.microseconds < b.microseconds; }

std::size_t products_for(double microseconds, double one, std::size_t most) {
  const auto fitting = static_cast<std::size_t>(microseconds / std::max(one, 1.0));
  return std::clamp(fitting, kLeastProducts, most);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

TimedAlgorithm fastest_algorithm(const GemmProblem& problem,
                                 std::span<const Bf16* const> matrices) {
  Bench bench(problem, matrices);
  std::vector<Entry> entries;
  for (const Algorithm& algorithm : find_candidates(problem))
    if (bench.warm(algorithm)) entries.push_back({algorithm, {}, kNever});
  if (entries.empty())
    throw runtime::UnavailableError("cuBLASLt runs none of the algorithms that it proposes");

  const cuda::OwnedGraphExec first = bench.record(entries.front().algorithm, kLeastProducts);
  bench.microseconds(first);
  const double one = bench.microseconds(first) / kLeastProducts;

  const std::size_t look = products_for(kLookMicroseconds, one, kMostLookProducts);
  for (Entry& entry : entries) {
    const cuda::OwnedGraphExec graph = bench.record(entry.algorithm, look);
    for (int i = 0; i < kLooks; ++i)
      entry.microseconds =
          std::min(entry.microseconds, bench.microseconds(graph) / static_cast<double>(look));
  }
  std::ranges::sort(entries, faster);
  const double close = kClose * entries.front().microseconds;
  std::erase_if(entries, [&](const Entry& entry) { return entry.microseconds > close; });
  if (entries.size() > kMostFinalists)
    entries.erase(entries.begin() + kMostFinalists, entries.end());

  const std::size_t products = products_for(kFinalMicroseconds, one, kMostProducts);
  for (Entry& entry : entries) entry.graph = bench.record(entry.algorithm, products);
  std::vector<std::vector<double>> samples(entries.size());
  for (int round = 0; round < kRounds; ++round)  // in turns: the clock drifts under all alike
    for (std::size_t i = 0; i < entries.size(); ++i)
      samples[i].push_back(bench.microseconds(entries[i].graph) / static_cast<double>(products));
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].microseconds = median(samples[i]);
  const Entry& best = *std::ranges::min_element(entries, faster);
  return {best.algorithm, best.microseconds};
}

}  // namespace syncopate::models::llama
