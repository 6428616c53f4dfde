// Log: a vector for what a run writes down. Long runs log tens of megabytes that are touched once,
// front to back; with small pages their first touch costs more than what is written (measured: a
// third of a logged run in virtual time).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace syncopate::runtime {

/// Allocates as usual, and asks the system for huge pages where an array is large enough for them.
/// Where it has none, nothing is different but the time.
template <class T>
struct LogAllocator {
  using value_type = T;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  LogAllocator() = default;
  template <class U>
  LogAllocator(const LogAllocator<U>&) {
  }  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes));
    void* memory = ::operator new(bytes, std::align_val_t{kHugePage});
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // advice: a refusal changes nothing
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kHugePage) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t{kHugePage});
    }
  }
  friend bool operator==(LogAllocator, LogAllocator) { return true; }
};

template <class T>
using Log = std::vector<T, LogAllocator<T>>;

}  // namespace syncopate::runtime
