#include "backend/cpu/host_memory.h"

#include <cstring>
#include <new>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::cpu {

void HostMemory::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t{kAlignment});
}

std::unique_ptr<std::byte, HostMemory::Free> HostMemory::take(std::uint64_t bytes) {
  void* memory = ::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) {
    throw runtime::UnavailableError("no memory for a buffer of " + std::to_string(bytes) +
                                    " bytes");
  }
  return std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(memory));
}

std::byte* HostMemory::allocate(runtime::Buffer buffer, std::uint64_t bytes) {
  if (bases_.size() <= buffer.id) {
    blocks_.resize(buffer.id + 1);
    bases_.resize(buffer.id + 1, nullptr);
  }
  blocks_[buffer.id] = take(bytes);
  bases_[buffer.id] = blocks_[buffer.id].get();
  std::memset(bases_[buffer.id], 0, bytes);
  return bases_[buffer.id];
}

void HostMemory::renew(runtime::Buffer buffer, std::uint64_t bytes) {
  blocks_[buffer.id].reset();
  blocks_[buffer.id] = take(bytes);
  bases_[buffer.id] = blocks_[buffer.id].get();
}

}  // namespace syncopate::cpu
