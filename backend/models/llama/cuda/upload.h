// Tensors of a checkpoint on their way to the device.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/safetensors.h"

namespace syncopate::models::llama {

struct Upload {
  FloatTensor from;
  Bf16* to;  ///< Device memory for all its elements.
};

/// Copies each tensor to the current device, those that are not bf16 rounded to it. Several threads
/// share the work: copying out of the page cache into pinned memory takes longer than the bus does,
/// and one core cannot keep up with a disk array. Returns when all is there. Throws CudaError, and
/// UnavailableError where pinned memory is short.
void upload(const std::vector<Upload>& uploads);

}  // namespace syncopate::models::llama
