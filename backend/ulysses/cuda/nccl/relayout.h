// Kernels that copy rows from one layout into another.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace syncopate::ulysses::cuda {

/// `rows` rows of `width` bytes, within one device's memory. Addresses, widths and pitches are
/// multiples of 2 bytes.
struct RowCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t from_pitch = 0;
  std::uint64_t to_pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t rows = 0;
};

/// Copies of one launch.
inline constexpr std::size_t kRowCopies = 32;

/// Enqueues at most kRowCopies copies, of disjoint rows, as one kernel, which moves as many bytes
/// an access as the alignment of all allows: 16, 8, 4 or 2. Sizes are run-time arguments. Throws
/// UlyssesError kTooLarge for a row of 2^31 accesses or a copy of as many rows, kUnsupported where
/// not even 2 bytes are aligned; CudaError.
void copy_rows(std::span<const RowCopy> copies, cudaStream_t stream);

/// Loads all kernels on the current device. Loaded at their first launch, they would wait for what
/// runs, which may be an exchange that waits for this rank. Throws CudaError.
void load_relayout_kernels();

}  // namespace syncopate::ulysses::cuda
