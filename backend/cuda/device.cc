#include "backend/cuda/device.h"

#include "backend/cuda/call.h"

namespace syncopate::cuda {
namespace {

// CUDA's integer has 13.0 as 13000, and 12.8 as 12080.
std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

}  // namespace

DeviceDescription describe_device(int device) {
  cudaDeviceProp properties{};
  int driver = 0;
  int runtime = 0;
  SYNCOPATE_CUDA_CALL(cudaGetDeviceProperties(&properties, device));
  SYNCOPATE_CUDA_CALL(cudaDriverGetVersion(&driver));
  SYNCOPATE_CUDA_CALL(cudaRuntimeGetVersion(&runtime));
  return {.name = properties.name,
          .memory_bytes = properties.totalGlobalMem,
          .multiprocessors = properties.multiProcessorCount,
          .driver_cuda = version_text(driver),
          .runtime_cuda = version_text(runtime)};
}

}  // namespace syncopate::cuda
