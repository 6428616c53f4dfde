// Attention on a device as a plain kernel: for element types and head sizes that have no better
// one.
#pragma once

#include <cuda_runtime_api.h>

#include "backend/ulysses/attention.h"

namespace syncopate::ulysses::cuda {

inline constexpr std::uint32_t kPlainMaxHeadDim = 256;

/// Where a band's tensors are on the device.
struct DeviceTensors {
  const std::byte* q = nullptr;
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  std::byte* output = nullptr;
};

/// Enqueues one kernel: a warp a query, its keys one after the other, in fp32. Right, not fast.
/// Heads of at most kPlainMaxHeadDim elements. Errors are left to cudaGetLastError().
void enqueue_plain_attention(const AttentionBand& band, const DeviceTensors& tensors,
                             cudaStream_t stream);

}  // namespace syncopate::ulysses::cuda
