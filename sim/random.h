// Draws for jitter and chaos, in integer and basic IEEE arithmetic only: the same on any machine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/runtime/handles.h"

namespace syncopate::sim {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): a
/// counter by the golden ratio, mixed. Not thread-safe.
class Random {
 public:
  /// Streams of one seed are independent for practical purposes.
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed) ^ mix(~stream)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }

  /// Evenly from [1 - amplitude, 1 + amplitude).
  double factor(double amplitude) {
    const double unit = static_cast<double>(next() >> 11) * 0x1p-53;  // [0, 1)
    return 1.0 + amplitude * (2.0 * unit - 1.0);
  }

  /// Between 1 us and 5 ms; each doubling is about as likely as any other, evenly within it.
  runtime::Nanos chaos() {
    constexpr std::uint64_t kLeast = 1'000, kMost = 5'000'000, kDoublings = 13;
    const std::uint64_t draw = next();
    const std::uint64_t doubling = (draw >> 32) % kDoublings;
    const std::uint64_t within = 1024 + (draw & 1023);  // 1 to 2, in 1024ths
    return static_cast<runtime::Nanos>(std::min(((kLeast * within) >> 10) << doubling, kMost));
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace syncopate::sim
