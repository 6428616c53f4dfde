#include "backend/cuda/memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backend/cuda/call.h"
#include "backend/runtime/error.h"

namespace syncopate::cuda {
namespace {

bool out_of_memory(cudaError_t status) {
  if (status != cudaErrorMemoryAllocation) return false;
  cudaGetLastError();
  return true;
}

// A buffer of no bytes still has an address of its own.
std::size_t at_least_one(std::uint64_t bytes) { return std::max<std::size_t>(bytes, 1); }

}  // namespace

DeviceMemory make_raw_device_memory(std::uint64_t bytes) {
  void* base = nullptr;
  const cudaError_t status = cudaMalloc(&base, at_least_one(bytes));
  if (out_of_memory(status)) {
    std::size_t free = 0;
    std::size_t total = 0;
    SYNCOPATE_CUDA_CALL(cudaMemGetInfo(&free, &total));
    throw runtime::UnavailableError("no " + std::to_string(bytes) +
                                    " bytes of device memory: " + std::to_string(free) + " of " +
                                    std::to_string(total) + " are free");
  }
  check_call(status, "cudaMalloc", __FILE__, __LINE__);
  return DeviceMemory(base);
}

DeviceMemory make_device_memory(std::uint64_t bytes) {
  DeviceMemory memory = make_raw_device_memory(bytes);
  SYNCOPATE_CUDA_CALL(cudaMemset(memory.get(), 0, at_least_one(bytes)));
  return memory;
}

PinnedMemory make_pinned_memory(std::uint64_t bytes) {
  void* base = nullptr;
  const cudaError_t status =
      cudaHostAlloc(&base, at_least_one(bytes), cudaHostAllocPortable | cudaHostAllocMapped);
  if (out_of_memory(status)) {
    throw runtime::UnavailableError("no " + std::to_string(bytes) + " bytes of pinned memory");
  }
  check_call(status, "cudaHostAlloc", __FILE__, __LINE__);
  PinnedMemory memory(base);
  std::memset(base, 0, at_least_one(bytes));
  return memory;
}

}  // namespace syncopate::cuda
