#include "sim/memory.h"

#include <algorithm>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::sim {

std::byte* BufferMemory::allocate(runtime::Buffer buffer, std::uint64_t bytes) {
  if (buffer.id >= bases_.size()) {
    owned_.resize(buffer.id + 1);
    bases_.resize(buffer.id + 1);
    sizes_.resize(buffer.id + 1);
  }
  // calloc: the pages of a large pool that are never touched cost nothing.
  auto* memory = static_cast<std::byte*>(std::calloc(std::max<std::uint64_t>(bytes, 1), 1));
  if (memory == nullptr) {
    throw runtime::UnavailableError("no host memory for a buffer of " + std::to_string(bytes) +
                                    " bytes");
  }
  owned_[buffer.id].reset(memory);
  bases_[buffer.id] = memory;
  sizes_[buffer.id] = bytes;
  return memory;
}

}  // namespace syncopate::sim
