// The values of a random tensor, the same on every machine and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend/models/host_device.h"
#include "backend/models/mix64.h"

namespace syncopate::models::llama {

/// Uniform around 0, each element a hash of seed, tensor and element: there is no sequence, so
/// elements can be made in any order. Trivially copyable.
class RandomTensor {
 public:
  /// Of a set with `seed`, the tensor with number `index`.
  RandomTensor(std::uint64_t seed, std::uint64_t index, double variance)
      : stream_(hash(seed ^ hash(index))),
        // A uniform variable on [-a, a) has variance a^2 / 3.
        scale_(static_cast<float>(std::sqrt(3.0 * variance) / kHalf)) {}

  /// 24 bits, centred: an integer that fp32 holds exactly, scaled by one rounded product.
  SYNCOPATE_HOST_DEVICE float operator[](std::uint64_t element) const {
    const auto bits = static_cast<std::int32_t>(hash(stream_ + element) >> 40) - kHalf;
    return static_cast<float>(bits) * scale_;
  }

 private:
  static constexpr std::int32_t kHalf = 1 << 23;

  SYNCOPATE_HOST_DEVICE static std::uint64_t hash(std::uint64_t x) {
    return mix64(x + kGoldenGamma);
  }

  std::uint64_t stream_;
  float scale_;
};

}  // namespace syncopate::models::llama
