// Ownership of what CUDA hands out, in one move-only class.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

namespace syncopate::cuda {

/// Holds a pointer-like CUDA handle and gives it to `Destroy` at its end. May be empty.
/// A failure to destroy is not reported: it repeats an error that an earlier call has thrown.
template <class T, cudaError_t (*Destroy)(T)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, T{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) static_cast<void>(Destroy(handle_));
  }

  T get() const { return handle_; }
  explicit operator bool() const { return handle_ != T{}; }

 private:
  T handle_{};
};

}  // namespace syncopate::cuda
