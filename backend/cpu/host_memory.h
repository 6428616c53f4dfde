// HostMemory: the buffers of an engine that keeps all memory on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::cpu {

/// Grows before the run from one thread; read by all afterwards.
class HostMemory {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// Zero-filled. Throws UnavailableError when there is no such memory.
  std::byte* allocate(runtime::Buffer buffer, std::uint64_t bytes);

  std::byte* base(runtime::Buffer buffer) const { return bases_[buffer.id]; }
  /// By buffer id; null where an id is not in use.
  const std::vector<std::byte*>& bases() const { return bases_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  std::vector<std::byte*> bases_;
};

}  // namespace syncopate::cpu
