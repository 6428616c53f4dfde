// How a kernel reads a row's sampling, and what decides by chance.
#pragma once

#include <cstdint>

#include "backend/models/host_device.h"
#include "backend/models/mix64.h"

namespace syncopate::models {

/// A row's Sampling in fixed point, each value inside its range whatever the block held. "Q16"
/// counts 1/65536.
struct RowSampling {
  static constexpr std::uint32_t kOne = 1U << 16;  ///< 1 in Q16.
  static constexpr std::uint32_t kMaxTemperature = 100 * kOne;
  static constexpr std::uint32_t kMaxPenalty = 100 * kOne;

  std::uint32_t temperature;  ///< Q16, up to kMaxTemperature; 0: greedy.
  std::uint32_t top_k;        ///< 0: all.
  std::uint32_t top_p;        ///< Q16, 1 to kOne.
  std::uint32_t min_p;        ///< Q16, 0 to kOne.
  std::uint32_t penalty;      ///< Q16, 1 to kMaxPenalty; kOne: none.
  std::uint64_t seed;

  SYNCOPATE_HOST_DEVICE bool greedy() const { return temperature == 0; }
  SYNCOPATE_HOST_DEVICE bool penalises() const { return penalty != kOne; }
  /// The largest logit and nothing else: what a row of zeros says.
  SYNCOPATE_HOST_DEVICE bool plain() const { return greedy() && !penalises(); }
};

/// 64 uniform bits for the token at `position` of a request with `seed`: a counter-based generator,
/// the position-th number of a SplitMix64 that starts at the mixed seed (mixed, so that nearby
/// seeds do not walk the same sequence). There is no state, so nothing to lose or to run ahead when
/// a row moves, waits, is discarded or is computed again.
SYNCOPATE_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint32_t position) {
  return mix64(mix64(seed) + (std::uint64_t{position} + 1) * kGoldenGamma);
}

}  // namespace syncopate::models
