#include <algorithm>

#include "backend/cuda/call.h"
#include "backend/models/llama/cuda/random_weights.h"

namespace syncopate::models::llama {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocks = 8192;  // Several waves on any device.

template <class Value>
__global__ void fill(Value value, std::uint64_t size, Bf16* out) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size;
       i += stride)
    out[i] = __float2bfloat16_rn(value[i]);
}

struct Ones {
  __device__ float operator[](std::uint64_t) const { return 1.0f; }
};

template <class Value>
void enqueue_fill(cudaStream_t stream, const Value& value, std::uint64_t size, Bf16* out) {
  const std::uint64_t blocks = std::min((size + kThreads - 1) / kThreads, kMostBlocks);
  if (blocks == 0) return;
  fill<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(value, size, out);
  SYNCOPATE_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void enqueue_random(cudaStream_t stream, const RandomTensor& random, std::uint64_t size,
                    Bf16* out) {
  enqueue_fill(stream, random, size, out);
}

void enqueue_ones(cudaStream_t stream, std::uint64_t size, Bf16* out) {
  enqueue_fill(stream, Ones{}, size, out);
}

}  // namespace syncopate::models::llama
