// Counts the allocations of a test program by replacing operator new. For one file of a program,
// and not under the sanitizers, which replace it themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace syncopate {
inline std::atomic<std::uint64_t> allocations{0};
}

// Not inlined: where only one of a pair is, gcc takes malloc or free for the other one's match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  syncopate::allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  syncopate::allocations.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
