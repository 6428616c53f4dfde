// RMSNorm, and what makes the vectors that it takes.
#include <string>

#include "backend/models/llama/cuda/bf16x8.cuh"
#include "backend/models/llama/cuda/early_launch.cuh"
#include "backend/models/llama/cuda/pointwise.h"
#include "backend/runtime/error.h"

namespace syncopate::models::llama {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxVectors = 2;  // of one thread

// A source says for each output vector what the residual is there, and where it is kept.

struct Embedded {
  const std::int32_t* ids;
  const Bf16* table;
  Bf16* residual;

  __device__ Bf16x8 take(std::uint32_t token, std::uint32_t hidden, std::uint32_t at) const {
    return load(table + std::size_t{static_cast<std::uint32_t>(ids[token])} * hidden + at);
  }
  __device__ void keep(std::uint32_t token, std::uint32_t hidden, std::uint32_t at,
                       const Bf16x8& vector) const {
    store(residual + std::size_t{token} * hidden + at, vector);
  }
};

__device__ Bf16x8 sum(const Bf16* a, const Bf16* b) {
  Float8 total = widened(load(a));
  const Float8 more = widened(load(b));
  for (unsigned i = 0; i < kVector; ++i) total.v[i] += more.v[i];
  return rounded(total);
}

struct Added {
  const Bf16* x;
  Bf16* residual;

  __device__ Bf16x8 take(std::uint32_t token, std::uint32_t hidden, std::uint32_t at) const {
    const std::size_t place = std::size_t{token} * hidden + at;
    return sum(residual + place, x + place);
  }
  __device__ void keep(std::uint32_t token, std::uint32_t hidden, std::uint32_t at,
                       const Bf16x8& vector) const {
    store(residual + std::size_t{token} * hidden + at, vector);
  }
};

struct LastAdded {
  const std::int32_t* last_token;
  const Bf16* x;
  const Bf16* residual;

  __device__ Bf16x8 take(std::uint32_t row, std::uint32_t hidden, std::uint32_t at) const {
    const std::size_t place =
        std::size_t{static_cast<std::uint32_t>(last_token[row])} * hidden + at;
    return sum(residual + place, x + place);
  }
  __device__ void keep(std::uint32_t, std::uint32_t, std::uint32_t, const Bf16x8&) const {}
};

// All threads call it, and get the same: the sum over the warps in order, each by halves.
__device__ float block_sum(float mine) {
  __shared__ float of_warp[kMaxThreads / kWarp];
  const auto halves = [](float value) {
    for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(0xffffffffU, value, static_cast<int>(distance));
    }
    return value;
  };
  const unsigned lane = threadIdx.x % kWarp;
  mine = halves(mine);
  if (lane == 0) of_warp[threadIdx.x / kWarp] = mine;
  __syncthreads();
  return halves(lane < blockDim.x / kWarp ? of_warp[lane] : 0.0f);
}

// One block an output vector of `hidden` elements, which stay in registers between the sum and the
// scaling. The order of the sum depends on `hidden` alone.
template <unsigned kVectors, class Source>
__global__ void __launch_bounds__(kMaxThreads)
    norm_rows(Source source, const Bf16* weights, float eps, std::uint32_t hidden, Bf16* normed) {
  const std::uint32_t row = blockIdx.x;
  // The weights do not depend on the kernel before: they are asked for first.
  Bf16x8 scale[kVectors] = {}, x[kVectors] = {};
  const auto place = [](unsigned k) { return (k * blockDim.x + threadIdx.x) * kVector; };
#pragma unroll
  for (unsigned k = 0; k < kVectors; ++k) {
    if (place(k) < hidden) scale[k] = load(weights + place(k));
  }
  wait_for_earlier_kernels();
#pragma unroll
  for (unsigned k = 0; k < kVectors; ++k) {
    if (place(k) < hidden) x[k] = source.take(row, hidden, place(k));
  }
  float squares = 0;
#pragma unroll
  for (unsigned k = 0; k < kVectors; ++k) {
    const Float8 wide = widened(x[k]);
    for (unsigned i = 0; i < kVector; ++i) squares += wide.v[i] * wide.v[i];
    if (place(k) < hidden) source.keep(row, hidden, place(k), x[k]);
  }
  const float factor = rsqrtf(block_sum(squares) / static_cast<float>(hidden) + eps);
#pragma unroll
  for (unsigned k = 0; k < kVectors; ++k) {
    if (place(k) >= hidden) continue;
    Float8 out = widened(x[k]);
    const Float8 weight = widened(scale[k]);
    for (unsigned i = 0; i < kVector; ++i) out.v[i] = out.v[i] * factor * weight.v[i];
    store(normed + std::size_t{row} * hidden + place(k), rounded(out));
  }
}

template <class Source>
void enqueue_norm(cudaStream_t stream, std::uint32_t rows, std::uint32_t hidden,
                  const Source& source, const NormWeights& norm, Bf16* normed) {
  constexpr std::uint32_t kMost = kMaxVectors * kMaxThreads * kVector;
  if (hidden % kVector != 0 || hidden > kMost) {
    throw runtime::UsageError("a hidden size of " + std::to_string(hidden) +
                              ": the norm takes multiples of 8 up to " + std::to_string(kMost));
  }
  const std::uint32_t vectors = hidden / kVector;
  const bool one_each = vectors <= kMaxThreads;
  const std::uint32_t lanes = one_each ? vectors : (vectors + 1) / 2;
  const unsigned threads = (lanes + kWarp - 1) / kWarp * kWarp;
  const auto kernel = one_each ? norm_rows<1, Source> : norm_rows<2, Source>;
  launch_early(kernel, rows, threads, 0, stream, source, norm.values, norm.eps, hidden, normed);
}

}  // namespace

void enqueue_embed(cudaStream_t stream, std::uint32_t tokens, const StepPlan& plan,
                   const DeviceMatrix& embedding, const NormWeights& norm, Bf16* residual,
                   Bf16* normed) {
  enqueue_norm(stream, tokens, embedding.in, Embedded{plan.id, embedding.values, residual}, norm,
               normed);
}

void enqueue_add_norm(cudaStream_t stream, std::uint32_t tokens, std::uint32_t hidden,
                      const Bf16* x, const NormWeights& norm, Bf16* residual, Bf16* normed) {
  enqueue_norm(stream, tokens, hidden, Added{x, residual}, norm, normed);
}

void enqueue_last_norm(cudaStream_t stream, std::uint32_t rows, std::uint32_t hidden,
                       const StepPlan& plan, const Bf16* x, const Bf16* residual,
                       const NormWeights& norm, Bf16* normed) {
  enqueue_norm(stream, rows, hidden, LastAdded{plan.last_token, x, residual}, norm, normed);
}

}  // namespace syncopate::models::llama
