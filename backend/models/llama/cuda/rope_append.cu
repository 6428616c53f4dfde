#include <algorithm>
#include <string>

#include "backend/models/llama/cuda/bf16x8.cuh"
#include "backend/models/llama/cuda/early_launch.cuh"
#include "backend/models/llama/cuda/pointwise.h"
#include "backend/runtime/error.h"

namespace syncopate::models::llama {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxHalf = 128;  // half a head: the angles of one position

// One block a token. A thread takes eight of a head's pairs at a time, (i, i + head_dim / 2), be
// they to be rotated (queries, keys) or only moved (values).
__global__ void __launch_bounds__(kMaxThreads)
    rope_append(StepPlan plan, const float* frequencies, KvPool pool, std::uint32_t layer,
                std::uint32_t heads, Bf16* qkv) {
  __shared__ alignas(16) float cosines[kMaxHalf];
  __shared__ alignas(16) float sines[kMaxHalf];
  const std::uint32_t token = blockIdx.x;
  const std::uint32_t half = pool.head_dim / 2;
  const std::uint32_t vectors = half / kVector;  // of a head
  const std::uint32_t all_heads = heads + 2 * pool.kv_heads;
  const std::uint32_t items = all_heads * vectors;
  const float frequency = threadIdx.x < half ? frequencies[threadIdx.x] : 0;

  wait_for_earlier_kernels();
  // All that is read is asked for at once, the first pairs too.
  const std::int32_t entry = plan.entry[token];
  const std::int32_t position = plan.position[token];
  Bf16* const row = qkv + std::size_t{token} * all_heads * pool.head_dim;
  const auto place = [&](std::uint32_t item) {
    return row + item / vectors * pool.head_dim + item % vectors * kVector;
  };
  std::uint32_t item = threadIdx.x;
  Bf16x8 a = {}, b = {};
  if (item < items) {
    a = load(place(item));
    b = load(place(item) + half);
  }
  if (entry < 0) return;  // padding
  if (threadIdx.x < half) {
    // The product is rounded to fp32, as on the CPU (rope.cc).
    const float angle = __fmul_rn(static_cast<float>(position), frequency);
    sincosf(angle, &sines[threadIdx.x], &cosines[threadIdx.x]);
  }
  __syncthreads();

  Bf16* const key = pool.key(layer, static_cast<std::uint32_t>(entry));
  while (item < items) {
    const std::uint32_t head = item / vectors;
    const std::uint32_t begin = item % vectors * kVector;
    if (head < heads + pool.kv_heads) {
      Float8 x = widened(a), y = widened(b);
      for (unsigned i = 0; i < kVector; ++i) {
        const float cosine = cosines[begin + i], sine = sines[begin + i];
        const float turned = x.v[i] * cosine - y.v[i] * sine;
        y.v[i] = y.v[i] * cosine + x.v[i] * sine;
        x.v[i] = turned;
      }
      a = rounded(x);
      b = rounded(y);
    }
    Bf16* out = place(item);
    if (head >= heads) {
      const std::uint32_t kv_head = head - heads;
      out = kv_head < pool.kv_heads
                ? key + kv_head * pool.head_stride + begin
                : key + pool.value_offset + (kv_head - pool.kv_heads) * pool.head_stride + begin;
    }
    store(out, a);
    store(out + half, b);
    item += blockDim.x;
    if (item < items) {
      a = load(place(item));
      b = load(place(item) + half);
    }
  }
}

}  // namespace

void enqueue_rope_append(cudaStream_t stream, std::uint32_t tokens, std::uint32_t heads,
                         const StepPlan& plan, const float* frequencies, const KvPool& pool,
                         std::uint32_t layer, Bf16* qkv) {
  if (pool.head_dim % (2 * kVector) != 0 || pool.head_dim > 2 * kMaxHalf) {
    throw runtime::UsageError("heads of " + std::to_string(pool.head_dim) +
                              ": the rotation takes multiples of 16 up to " +
                              std::to_string(2 * kMaxHalf));
  }
  const std::uint32_t half = pool.head_dim / 2;
  const std::uint32_t items = (heads + 2 * pool.kv_heads) * (half / kVector);
  const std::uint32_t lanes = std::max(half, std::min(items, kMaxThreads));
  const unsigned threads = (lanes + kWarp - 1) / kWarp * kWarp;
  launch_early(rope_append, tokens, threads, 0, stream, plan, frequencies, pool, layer, heads, qkv);
}

}  // namespace syncopate::models::llama
