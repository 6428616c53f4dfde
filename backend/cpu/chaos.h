// Chaos: seeded random delays around operations, so that a missing edge shows.
#pragma once

#include <cstdint>
#include <random>

namespace syncopate::cpu {

/// One for each stream. Not thread-safe.
class Chaos {
 public:
  /// Seed 0: no delays.
  Chaos(std::uint64_t seed, std::uint32_t stream)
      : enabled_(seed != 0), random_(seed ^ (stream + 1) * 0x9e3779b97f4a7c15u) {}

  /// Passes 0 to 200 us, uniformly drawn.
  void delay() {
    if (enabled_) pass();
  }

 private:
  void pass();

  bool enabled_;
  std::mt19937_64 random_;
};

}  // namespace syncopate::cpu
