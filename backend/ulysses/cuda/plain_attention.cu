#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/ulysses/cuda/plain_attention.h"

namespace syncopate::ulysses::cuda {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kWarps = 4;                            // a block's
constexpr std::uint32_t kElements = kPlainMaxHeadDim / kWarp;  // a lane's

template <class T>
struct Args {
  const T* q;
  const T* k;
  const T* v;
  T* output;
  std::uint64_t queries;  // of all sequences and heads
  std::uint32_t tokens, query_heads, kv_heads, head_dim, group, lead;
  bool causal;
};

__device__ float sum_of_warp(float value) {
  for (std::uint32_t step = kWarp / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, step);
  }
  return value;
}

// Lane l holds elements l, l + 32, … of the query, and of its weighted sum (Milakov, Gimelshein:
// "Online normalizer calculation for softmax", 2018).
template <class T>
__global__ void plain_attention(Args<T> args) {
  const std::uint64_t row = std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (row >= args.queries) return;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const auto head = static_cast<std::uint32_t>(row % args.query_heads);
  const std::uint64_t token = row / args.query_heads;  // of all sequences
  const std::uint64_t sequence = token / args.tokens;
  const std::uint32_t position = static_cast<std::uint32_t>(token % args.tokens);
  const std::uint32_t kv_head = (args.lead + head) / args.group;
  const std::uint64_t kv_row = std::uint64_t{args.kv_heads} * args.head_dim;
  const std::uint64_t kv = sequence * args.tokens * kv_row + kv_head * args.head_dim;

  float query[kElements], sums[kElements];
  for (std::uint32_t i = 0; i < kElements; ++i) {
    const std::uint32_t d = lane + i * kWarp;
    query[i] = d < args.head_dim ? static_cast<float>(args.q[row * args.head_dim + d]) : 0.0F;
    sums[i] = 0;
  }
  const float scale = rsqrtf(static_cast<float>(args.head_dim));
  const std::uint32_t keys = args.causal ? position + 1 : args.tokens;
  float most = -INFINITY;
  float sum = 0;
  for (std::uint32_t key = 0; key < keys; ++key) {
    const T* k = args.k + kv + key * kv_row;
    const T* v = args.v + kv + key * kv_row;
    float dot = 0;
    for (std::uint32_t i = 0; i < kElements; ++i) {
      const std::uint32_t d = lane + i * kWarp;
      if (d < args.head_dim) dot += query[i] * static_cast<float>(k[d]);
    }
    const float score = sum_of_warp(dot) * scale;
    const float now_most = fmaxf(most, score);
    const float fade = expf(most - now_most);  // 0 for the first key
    const float weight = expf(score - now_most);
    most = now_most;
    sum = sum * fade + weight;
    for (std::uint32_t i = 0; i < kElements; ++i) {
      const std::uint32_t d = lane + i * kWarp;
      if (d < args.head_dim) sums[i] = sums[i] * fade + weight * static_cast<float>(v[d]);
    }
  }
  for (std::uint32_t i = 0; i < kElements; ++i) {
    const std::uint32_t d = lane + i * kWarp;
    if (d < args.head_dim) args.output[row * args.head_dim + d] = static_cast<T>(sums[i] / sum);
  }
}

template <class T>
void enqueue(const AttentionBand& band, const DeviceTensors& tensors, cudaStream_t stream) {
  Args<T> args;
  args.q = reinterpret_cast<const T*>(tensors.q);
  args.k = reinterpret_cast<const T*>(tensors.k);
  args.v = reinterpret_cast<const T*>(tensors.v);
  args.output = reinterpret_cast<T*>(tensors.output);
  args.queries = std::uint64_t{band.batch} * band.tokens * band.query_heads;
  args.tokens = band.tokens;
  args.query_heads = band.query_heads;
  args.kv_heads = band.kv_heads;
  args.head_dim = band.head_dim;
  args.group = band.group;
  args.lead = band.lead;
  args.causal = band.causal;
  const auto blocks = static_cast<unsigned>((args.queries + kWarps - 1) / kWarps);
  plain_attention<T><<<blocks, kWarps * kWarp, 0, stream>>>(args);
}

}  // namespace

void enqueue_plain_attention(const AttentionBand& band, const DeviceTensors& tensors,
                             cudaStream_t stream) {
  switch (band.type) {
    case ElementType::kFp16:
      return enqueue<__half>(band, tensors, stream);
    case ElementType::kBf16:
      return enqueue<__nv_bfloat16>(band, tensors, stream);
    case ElementType::kFp32:
      return enqueue<float>(band, tensors, stream);
  }
}

}  // namespace syncopate::ulysses::cuda
