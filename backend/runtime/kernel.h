// Kernels: pairs of functions, one that computes on host memory (sim, cpu) and one that enqueues
// device work (cuda). A kernel reads per-step values only from buffers, since a graph replays it
// with the same arguments, and clamps every index it reads from device memory: a racy run feeds it
// garbage.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "backend/runtime/handles.h"

namespace syncopate::runtime {

/// What a body sees of the runtime while it runs. Lives only for the call.
class Exec {
 public:
  Exec(std::byte* const* bases, void* native) : bases_(bases), native_(native) {}

  /// The buffer's first element, in memory that the body can reach: host memory for a host body,
  /// a device address for a CUDA body.
  template <class T>
  T* data(Buffer buffer) const {
    return reinterpret_cast<T*>(bases_[buffer.id]);
  }
  /// The cudaStream_t to enqueue on, for CUDA bodies; null for host bodies.
  void* native() const { return native_; }

 private:
  std::byte* const* bases_;  // indexed by buffer id
  void* native_;
};

/// A function and its arguments by value, with no allocation: `Args` must be trivially copyable and
/// at most kBodyBytes large.
inline constexpr std::size_t kBodyBytes = 56;
struct Body {
  void (*fn)(Exec&, const void* args) = nullptr;
  alignas(8) std::byte args[kBodyBytes] = {};

  explicit operator bool() const { return fn != nullptr; }
  void operator()(Exec& exec) const { fn(exec, args); }

  /// Wraps `void F(Exec&, const Args&)`.
  template <auto F, class Args>
  static Body of(const Args& args) {
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= kBodyBytes);
    Body body;
    body.fn = [](Exec& exec, const void* raw) { F(exec, *static_cast<const Args*>(raw)); };
    std::memcpy(body.args, &args, sizeof(Args));
    return body;
  }
};

/// Either side may be missing; launching a kernel on a runtime whose side is missing is a
/// UsageError.
struct Kernel {
  Body host;
  Body cuda;
};

}  // namespace syncopate::runtime
