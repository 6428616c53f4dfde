// Programmatic dependent launch: a kernel that may begin while the one before it in the stream
// still ends, so that the time between two small kernels goes to what needs nothing of the first.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "backend/cuda/call.h"

namespace syncopate::models::llama {

/// In a kernel that launch_early() launched: returns when all that was in the stream before is done
/// and its writes can be seen. Before it, only what the whole step leaves alone may be read, such
/// as weights, and nothing may be written.
__device__ inline void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Launches `kernel`, which must call wait_for_earlier_kernels(). Where the device has no such
/// launches (before compute capability 9.0) it is an ordinary one. Throws CudaError.
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                  cudaStream_t stream, Arguments&&... arguments) {
  static const bool available = [] {
    int device = 0, major = 0;
    SYNCOPATE_CUDA_CALL(cudaGetDevice(&device));
    SYNCOPATE_CUDA_CALL(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 9;
  }();
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = available ? 1 : 0;
  SYNCOPATE_CUDA_CALL(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

}  // namespace syncopate::models::llama
