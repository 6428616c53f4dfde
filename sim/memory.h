// Memory: what the simulator's buffers are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::sim {

/// Zero-filled memory by buffer id, owned here. Not thread-safe.
class BufferMemory {
 public:
  /// Throws UnavailableError when there is none. The address stays valid.
  std::byte* allocate(runtime::Buffer buffer, std::uint64_t bytes);

  std::byte* base(runtime::Buffer buffer) const { return bases_[buffer.id]; }
  std::uint64_t size(runtime::Buffer buffer) const { return sizes_[buffer.id]; }
  /// By buffer id, for Exec.
  std::byte* const* bases() const { return bases_.data(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> owned_;
  std::vector<std::byte*> bases_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace syncopate::sim
