// Flags: 64-bit counters in pinned memory that streams write and wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/memory.h"
#include "backend/runtime/handles.h"

namespace syncopate::cuda {

/// create() comes first, from one thread; the rest may then be called from any thread.
class Flags {
 public:
  /// A flag at 0.
  void create(runtime::Flag flag);

  /// Sets `flag` to `value` behind the work of `stream`, whose writes are visible to who sees it.
  void write(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const;
  /// Holds `stream` until `flag` is at least `value`. CUDA compares the signed difference, so
  /// values stay below 2^63.
  void wait(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const;

  /// Raises every flag above all values, from the host: what waits goes on. A write that a stream
  /// still holds sets its flag back.
  void release_all() const;

 private:
  std::vector<PinnedMemory> blocks_;
  std::vector<std::uint64_t*> flags_;  // by id
};

}  // namespace syncopate::cuda
