#include <cuda_runtime.h>

#include "backend/cuda/call.h"
#include "tests/cuda/kernels.h"

namespace syncopate::cuda {
namespace {

constexpr unsigned kThreads = 128;
constexpr std::uint64_t kGateTimeout = 5'000'000'000;

__device__ std::uint64_t global_nanoseconds() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void gate(volatile std::uint32_t* words) {
  const std::uint64_t begin = global_nanoseconds();
  while (words[0] == 0) {
    if (global_nanoseconds() - begin > kGateTimeout) {
      words[1] = 1;
      return;
    }
  }
}

__global__ void spin(std::uint64_t nanoseconds) {
  const std::uint64_t begin = global_nanoseconds();
  while (global_nanoseconds() - begin < nanoseconds) {
  }
}

__global__ void fill(std::uint32_t* words, std::uint32_t count, std::uint32_t value) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) words[i] = value;
}

__global__ void affine(const std::uint32_t* src, std::uint32_t* dst, std::uint32_t count,
                       std::uint32_t factor, std::uint32_t addend) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) dst[i] = src[i] * factor + addend;
}

__global__ void poke(std::uint32_t* word) { *word = 1; }

cudaStream_t stream_of(const runtime::Exec& exec) {
  return static_cast<cudaStream_t>(exec.native());
}

unsigned blocks_for(std::uint32_t count) { return (count + kThreads - 1) / kThreads; }

struct FillArgs {
  runtime::Buffer words;
  std::uint32_t count;
  std::uint32_t value;
};

struct AffineArgs {
  runtime::Buffer src;
  runtime::Buffer dst;
  std::uint32_t count;
  std::uint32_t factor;
  std::uint32_t addend;
};

void enqueue_gate(runtime::Exec& exec, const runtime::Buffer& words) {
  gate<<<1, 1, 0, stream_of(exec)>>>(exec.data<std::uint32_t>(words));
}

void enqueue_spin(runtime::Exec& exec, const std::uint64_t& nanoseconds) {
  spin<<<1, 1, 0, stream_of(exec)>>>(nanoseconds);
}

void enqueue_fill(runtime::Exec& exec, const FillArgs& args) {
  fill<<<blocks_for(args.count), kThreads, 0, stream_of(exec)>>>(
      exec.data<std::uint32_t>(args.words), args.count, args.value);
}

void enqueue_affine(runtime::Exec& exec, const AffineArgs& args) {
  affine<<<blocks_for(args.count), kThreads, 0, stream_of(exec)>>>(
      exec.data<const std::uint32_t>(args.src), exec.data<std::uint32_t>(args.dst), args.count,
      args.factor, args.addend);
}

struct NoArgs {};
void enqueue_impossible(runtime::Exec& exec, const NoArgs&) {
  spin<<<1, 4096, 0, stream_of(exec)>>>(0);
}

void enqueue_fault(runtime::Exec& exec, const NoArgs&) {
  poke<<<1, 1, 0, stream_of(exec)>>>(reinterpret_cast<std::uint32_t*>(std::uintptr_t{16}));
}

}  // namespace

runtime::Body gate_body(runtime::Buffer words) { return runtime::Body::of<enqueue_gate>(words); }

runtime::Body spin_body(std::uint64_t nanoseconds) {
  return runtime::Body::of<enqueue_spin>(nanoseconds);
}

runtime::Body fill_body(runtime::Buffer words, std::uint32_t count, std::uint32_t value) {
  return runtime::Body::of<enqueue_fill>(FillArgs{words, count, value});
}

runtime::Body affine_body(runtime::Buffer src, runtime::Buffer dst, std::uint32_t count,
                          std::uint32_t factor, std::uint32_t addend) {
  return runtime::Body::of<enqueue_affine>(AffineArgs{src, dst, count, factor, addend});
}

runtime::Body impossible_body() { return runtime::Body::of<enqueue_impossible>(NoArgs{}); }

runtime::Body fault_body() { return runtime::Body::of<enqueue_fault>(NoArgs{}); }

void load_kernels() {
  cudaFuncAttributes ignored;
  SYNCOPATE_CUDA_CALL(cudaFuncGetAttributes(&ignored, gate));
  SYNCOPATE_CUDA_CALL(cudaFuncGetAttributes(&ignored, spin));
  SYNCOPATE_CUDA_CALL(cudaFuncGetAttributes(&ignored, fill));
  SYNCOPATE_CUDA_CALL(cudaFuncGetAttributes(&ignored, affine));
}

}  // namespace syncopate::cuda
