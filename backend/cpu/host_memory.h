// HostMemory: the buffers of an engine that keeps all memory on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::cpu {

/// Grows before the run from one thread; read by all afterwards. A buffer's place may change in the
/// run, in the order that the program gives.
class HostMemory {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// Zero-filled. Throws UnavailableError when there is no such memory.
  std::byte* allocate(runtime::Buffer buffer, std::uint64_t bytes);
  /// Frees a buffer's memory and allocates it anew, not filled. Throws UnavailableError.
  void renew(runtime::Buffer buffer, std::uint64_t bytes);

  std::byte* base(runtime::Buffer buffer) const { return bases_[buffer.id]; }
  /// By buffer id; null where an id is not in use.
  const std::vector<std::byte*>& bases() const { return bases_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  static std::unique_ptr<std::byte, Free> take(std::uint64_t bytes);

  std::vector<std::unique_ptr<std::byte, Free>> blocks_;  // by buffer id
  std::vector<std::byte*> bases_;
};

}  // namespace syncopate::cpu
