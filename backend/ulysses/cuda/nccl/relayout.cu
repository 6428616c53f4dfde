#include <algorithm>
#include <limits>

#include "backend/cuda/call.h"
#include "backend/ulysses/cuda/nccl/nccl_device.h"
#include "backend/ulysses/cuda/nccl/relayout.h"
#include "backend/ulysses/error.h"

namespace syncopate::ulysses::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kLoads = 8;  // that a thread has under way at once

template <std::uint32_t Bytes>
struct Vector;
template <>
struct Vector<16> {
  using Type = uint4;
};
template <>
struct Vector<8> {
  using Type = uint2;
};
template <>
struct Vector<4> {
  using Type = std::uint32_t;
};
template <>
struct Vector<2> {
  using Type = std::uint16_t;
};

/// A copy as the kernel takes it: a block takes `block_rows` rows. kThreads accesses further on is
/// `step_rows` rows and `step_columns` accesses further on.
struct Rows {
  const std::byte* from;
  std::byte* to;
  std::uint64_t from_pitch, to_pitch;
  std::uint32_t columns;  // accesses of a row
  std::uint32_t rows;
  std::uint32_t block_rows;
  std::uint32_t step_rows, step_columns;
};

struct Args {
  Rows copies[kRowCopies];
};

/// An access of a copy: moves on without dividing.
struct Place {
  std::uint32_t row, column;

  __device__ void step(const Rows& copy) {
    row += copy.step_rows;
    column += copy.step_columns;
    if (column < copy.columns) return;
    column -= copy.columns;
    ++row;
  }
};

// Block (x, y) takes the x-th group of rows of copy y.
template <std::uint32_t Bytes>
__global__ void __launch_bounds__(kThreads) copy_vectors(const __grid_constant__ Args args) {
  using V = typename Vector<Bytes>::Type;
  const Rows& copy = args.copies[blockIdx.y];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * copy.block_rows;
  if (first >= copy.rows) return;
  const auto end =
      static_cast<std::uint32_t>(min(std::uint64_t{copy.rows}, first + copy.block_rows));
  Place load{static_cast<std::uint32_t>(first) + threadIdx.x / copy.columns,
             threadIdx.x % copy.columns};
  Place store = load;
  while (load.row < end) {
    V values[kLoads];
#pragma unroll
    for (std::uint32_t i = 0; i < kLoads; ++i, load.step(copy)) {
      if (load.row >= end) continue;
      values[i] = *reinterpret_cast<const V*>(copy.from + load.row * copy.from_pitch +
                                              std::uint64_t{load.column} * Bytes);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kLoads; ++i, store.step(copy)) {
      if (store.row >= end) continue;
      *reinterpret_cast<V*>(copy.to + store.row * copy.to_pitch +
                            std::uint64_t{store.column} * Bytes) = values[i];
    }
  }
}

struct Variant {
  std::uint32_t bytes;
  void (*kernel)(Args);
};
constexpr Variant kVariants[] = {
    {16, copy_vectors<16>}, {8, copy_vectors<8>}, {4, copy_vectors<4>}, {2, copy_vectors<2>}};

std::uint32_t checked(std::uint64_t count) {
  if (count > std::numeric_limits<std::int32_t>::max()) {  // steps past the end must fit, too
    throw UlyssesError(Fault::kTooLarge,
                       "a copy of " + std::to_string(count) + " rows or accesses a row");
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace

void copy_rows(std::span<const RowCopy> copies, cudaStream_t stream) {
  if (copies.size() > kRowCopies) {
    throw UlyssesError(Fault::kTooLarge, std::to_string(copies.size()) + " copies in one launch");
  }
  std::uint64_t bits = 0;
  for (const RowCopy& copy : copies) {
    bits |= reinterpret_cast<std::uintptr_t>(copy.from) | reinterpret_cast<std::uintptr_t>(copy.to);
    bits |= copy.width;
    if (copy.rows > 1) bits |= copy.from_pitch | copy.to_pitch;
  }
  const auto fits = [bits](const Variant& variant) { return bits % variant.bytes == 0; };
  const auto* const variant = std::find_if(std::begin(kVariants), std::end(kVariants), fits);
  if (variant == std::end(kVariants)) {
    throw UlyssesError(Fault::kUnsupported, "rows that begin or end at an odd byte");
  }
  Args args{};
  std::uint32_t count = 0;
  std::uint64_t blocks = 0;
  for (const RowCopy& copy : copies) {
    if (copy.rows == 0 || copy.width == 0) continue;
    Rows& rows = args.copies[count++];
    const std::uint32_t columns = checked(copy.width / variant->bytes);
    rows = {copy.from,
            copy.to,
            copy.from_pitch,
            copy.to_pitch,
            columns,
            checked(copy.rows),
            std::max(1U, kThreads * kLoads / columns),
            kThreads / columns,
            kThreads % columns};
    blocks = std::max<std::uint64_t>(blocks, (copy.rows - 1) / rows.block_rows + 1);
  }
  if (count == 0) return;
  variant->kernel<<<dim3(static_cast<unsigned>(blocks), count), kThreads, 0, stream>>>(args);
  SYNCOPATE_CUDA_CALL(cudaGetLastError());
}

void load_relayout_kernels() {
  for (const Variant& variant : kVariants) {
    cudaFuncAttributes attributes;
    SYNCOPATE_CUDA_CALL(cudaFuncGetAttributes(&attributes, variant.kernel));
  }
}

int relayout_kernels() { return static_cast<int>(std::size(kVariants)); }

}  // namespace syncopate::ulysses::cuda
