#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "backend/ulysses/benchmark/cuda/bodies.h"

namespace syncopate::ulysses {
namespace {

constexpr unsigned kThreads = 256;

// Round to nearest, ties to even, as from_float() does on the host.
__device__ void store(float* to, float value) { *to = value; }
__device__ void store(__half* to, float value) { *to = __float2half_rn(value); }
__device__ void store(__nv_bfloat16* to, float value) { *to = __float2bfloat16_rn(value); }

// A block a token.
template <class T>
__global__ void fill(T* all, InputPart part) {
  const std::uint64_t batch = blockIdx.x / part.tokens;
  const std::uint64_t token = blockIdx.x % part.tokens;
  const std::uint64_t first = (batch * part.all_tokens + part.first_token + token) * part.row;
  T* to = all + std::uint64_t{blockIdx.x} * part.row;
  for (std::uint32_t i = threadIdx.x; i < part.row; i += kThreads) {
    store(to + i, input_value(part.seed, part.tensor, first + i));
  }
}

template <class T>
void enqueue_fill(runtime::Exec& exec, const InputPart& part) {
  auto* to = reinterpret_cast<T*>(exec.data<std::byte>(part.buffer) + part.offset);
  fill<<<part.batch * part.tokens, kThreads, 0, static_cast<cudaStream_t>(exec.native())>>>(to,
                                                                                            part);
}

void enqueue_poison(runtime::Exec& exec, const PoisonArgs& args) {
  cudaMemsetAsync(exec.data<std::byte>(args.buffer), 0xff, args.bytes,
                  static_cast<cudaStream_t>(exec.native()));
}

}  // namespace

runtime::Body cuda_fill_body(const InputPart& part) {
  switch (part.type) {
    case ElementType::kFp16:
      return runtime::Body::of<enqueue_fill<__half>>(part);
    case ElementType::kBf16:
      return runtime::Body::of<enqueue_fill<__nv_bfloat16>>(part);
    case ElementType::kFp32:
      break;
  }
  return runtime::Body::of<enqueue_fill<float>>(part);
}

runtime::Body cuda_poison_body(const PoisonArgs& args) {
  return runtime::Body::of<enqueue_poison>(args);
}

}  // namespace syncopate::ulysses
