// Random values, made on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/random_tensor.h"

namespace syncopate::models::llama {

/// out[i] = random[i], rounded to bf16, for i < size. Throws CudaError.
void enqueue_random(cudaStream_t stream, const RandomTensor& random, std::uint64_t size, Bf16* out);

/// out[i] = 1, for i < size. Throws CudaError.
void enqueue_ones(cudaStream_t stream, std::uint64_t size, Bf16* out);

}  // namespace syncopate::models::llama
