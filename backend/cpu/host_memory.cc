#include "backend/cpu/host_memory.h"

#include <cstring>
#include <new>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::cpu {

void HostMemory::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t{kAlignment});
}

std::byte* HostMemory::allocate(runtime::Buffer buffer, std::uint64_t bytes) {
  void* memory = ::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) {
    throw runtime::UnavailableError("no memory for a buffer of " + std::to_string(bytes) +
                                    " bytes");
  }
  std::memset(memory, 0, bytes);
  std::byte* base = static_cast<std::byte*>(memory);
  blocks_.emplace_back(base);
  if (bases_.size() <= buffer.id) bases_.resize(buffer.id + 1, nullptr);
  bases_[buffer.id] = base;
  return base;
}

}  // namespace syncopate::cpu
