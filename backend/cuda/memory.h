// Device and pinned memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/owned.h"

namespace syncopate::cuda {

using DeviceMemory = Owned<void*, cudaFree>;
using PinnedMemory = Owned<void*, cudaFreeHost>;

/// Zero-filled memory of the current device. The fill may still run when this returns:
/// cudaDeviceSynchronize waits for it. Throws UnavailableError when there is not enough.
DeviceMemory make_device_memory(std::uint64_t bytes);
/// The same, not filled.
DeviceMemory make_raw_device_memory(std::uint64_t bytes);

/// Zero-filled host memory that every device can reach under the address that the host uses.
/// Throws UnavailableError when it is not to be had.
PinnedMemory make_pinned_memory(std::uint64_t bytes);

}  // namespace syncopate::cuda
