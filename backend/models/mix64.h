// The one source of chance: a hash of a counter.
#pragma once

#include <cstdint>

#include "backend/models/host_device.h"

namespace syncopate::models {

/// What a SplitMix64 adds to its state at each step.
inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15U;

/// A bijective mix of 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014, "Fast
/// Splittable Pseudorandom Number Generators").
SYNCOPATE_HOST_DEVICE inline std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace syncopate::models
