// CUDA bodies for the tests. Buffers hold 32-bit words.
#pragma once

#include <cstdint>

#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"

namespace syncopate::cuda {

/// Spins until word 0 of `gate` (pinned) is not 0. After 5 s sets word 1 and ends.
runtime::Body gate_body(runtime::Buffer gate);

/// Spins for `nanoseconds`.
runtime::Body spin_body(std::uint64_t nanoseconds);

/// words[i] = value for i < count.
runtime::Body fill_body(runtime::Buffer words, std::uint32_t count, std::uint32_t value);

/// dst[i] = src[i] * factor + addend for i < count.
runtime::Body affine_body(runtime::Buffer src, runtime::Buffer dst, std::uint32_t count,
                          std::uint32_t factor, std::uint32_t addend);

/// Asks for more threads in a block than there can be.
runtime::Body impossible_body();

/// Writes where there is no memory. No call into CUDA succeeds in this process after it.
runtime::Body fault_body();

/// Loads the kernels above. CUDA loads a kernel when it is first launched and may then wait for the
/// device, which would wait for ever on a gate.
void load_kernels();

}  // namespace syncopate::cuda
