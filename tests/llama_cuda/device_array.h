// What the tests of the transformer's kernels share.
#pragma once

#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/memory.h"
#include "backend/models/llama/cuda/bf16.h"

namespace syncopate::models::llama {

/// `size` elements at `data` in device memory, once all that the device was given is done.
template <class T>
std::vector<T> read_device(const T* data, std::size_t size) {
  SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
  // A vector of bool would not do.
  const auto bytes = std::make_unique<std::byte[]>(size * sizeof(T));
  SYNCOPATE_CUDA_CALL(cudaMemcpy(bytes.get(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
  const T* const elements = reinterpret_cast<const T*>(bytes.get());
  return std::vector<T>(elements, elements + size);
}

/// An array in device memory. Its copies wait for all that the device was given before.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size)
      : memory_(cuda::make_device_memory(size * sizeof(T))), size_(size) {}
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    SYNCOPATE_CUDA_CALL(
        cudaMemcpy(data(), values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }

  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return size_; }
  std::vector<T> read() const { return read_device(data(), size_); }
  /// Takes the first `count` elements from `values`.
  void assign(const void* values, std::size_t count) {
    SYNCOPATE_CUDA_CALL(cudaDeviceSynchronize());
    SYNCOPATE_CUDA_CALL(cudaMemcpy(data(), values, count * sizeof(T), cudaMemcpyHostToDevice));
  }

 private:
  cuda::DeviceMemory memory_;
  std::size_t size_;
};

inline std::vector<Bf16> random_bf16(std::size_t size, std::uint64_t seed, float scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<Bf16> values(size);
  for (Bf16& value : values) value = __float2bfloat16(normal(random));
  return values;
}

}  // namespace syncopate::models::llama
