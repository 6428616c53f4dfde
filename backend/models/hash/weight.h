// Fixed-point arithmetic of sampling: exact, so that the host and CUDA choose the same ids.
#pragma once

#include <cstdint>

#include "backend/models/row_sampling.h"

namespace syncopate::models::hash {

/// Scores are logits as signed fixed point with this many fractional bits: a row's logits lie
/// evenly in [-8, 8), so that at a temperature of 1 a few ids of a hundred share the chance.
inline constexpr unsigned kScoreBits = 28;

SYNCOPATE_HOST_DEVICE inline std::int64_t score(std::uint32_t logit) {
  return std::int64_t{logit} - (std::int64_t{1} << 31);
}

/// The score of an id that has occurred: less likely when the penalty is above 1 (Keskar et al.
/// 2019, "CTRL", with the sign rule that made it usual). Rounds towards zero; |result| <= 2^47.
SYNCOPATE_HOST_DEVICE inline std::int64_t penalised(std::int64_t score, std::uint32_t penalty) {
  constexpr std::int64_t kOne = RowSampling::kOne;
  return score > 0 ? score * kOne / penalty : score * std::int64_t{penalty} / kOne;
}

/// The weight of the largest score.
inline constexpr std::uint32_t kFullWeight = 1U << 31;

/// floor(2^31 * 2^(-y)), y in Q16, up to a rounding of the fraction's power by a few units: one
/// factor for each hexadecimal digit of the fraction, then a shift. Never rises with y. 0 from 32
/// on.
SYNCOPATE_HOST_DEVICE inline std::uint32_t power_of_half(std::uint64_t y) {
  // round(2^31 * 2^(-j * 16^k / 65536)) at [k][j].
  static constexpr std::uint32_t kFactors[4][16] = {
      {0x80000000U, 0x7fffa747U, 0x7fff4e8eU, 0x7ffef5d6U, 0x7ffe9d1eU, 0x7ffe4466U, 0x7ffdebaeU,
       0x7ffd92f7U, 0x7ffd3a3fU, 0x7ffce188U, 0x7ffc88d2U, 0x7ffc301bU, 0x7ffbd765U, 0x7ffb7eafU,
       0x7ffb25f9U, 0x7ffacd43U},
      {0x80000000U, 0x7ffa748eU, 0x7ff4e959U, 0x7fef5e62U, 0x7fe9d3a9U, 0x7fe4492dU, 0x7fdebeeeU,
       0x7fd934edU, 0x7fd3ab29U, 0x7fce21a3U, 0x7fc8985aU, 0x7fc30f4eU, 0x7fbd8680U, 0x7fb7fdefU,
       0x7fb2759cU, 0x7faced85U},
      {0x80000000U, 0x7fa765adU, 0x7f4f08aeU, 0x7ef6e8daU, 0x7e9f0606U, 0x7e476009U, 0x7deff6b6U,
       0x7d98c9e6U, 0x7d41d96eU, 0x7ceb2523U, 0x7c94acdeU, 0x7c3e7073U, 0x7be86fbaU, 0x7b92aa88U,
       0x7b3d20b6U, 0x7ae7d21aU},
      {0x80000000U, 0x7a92be8bU, 0x75606374U, 0x70666f76U, 0x6ba27e65U, 0x6712460bU, 0x62b39509U,
       0x5e8451d0U, 0x5a82799aU, 0x56ac1f75U, 0x52ff6b55U, 0x4f7a9930U, 0x4c1bf829U, 0x48e1e9baU,
       0x45cae0f2U, 0x42d561b4U}};
  const std::uint64_t whole = y >> 16;
  if (whole >= 32) return 0;
  std::uint64_t power = kFullWeight;
  for (unsigned digit = 0; digit < 4; ++digit) {
    power = power * kFactors[digit][y >> (4 * digit) & 15] >> 31;
  }
  return static_cast<std::uint32_t>(power >> whole);
}

/// Distances from the largest score end here: what lies further has no weight (2^-32 is
/// exp(-22.2)). Below 2^40 at the highest temperature.
SYNCOPATE_HOST_DEVICE inline std::uint64_t furthest(std::uint32_t temperature) {
  return std::uint64_t{temperature} * 23 << (kScoreBits - 16);
}

/// kFullWeight * exp(-distance / temperature), `distance` at most furthest(temperature) below the
/// largest score; temperature in Q16, not 0.
SYNCOPATE_HOST_DEVICE inline std::uint32_t weight(std::uint64_t distance,
                                                  std::uint32_t temperature) {
  constexpr std::uint64_t kLog2e = 1512775;  // log2(e) in 1/2^20; bits: 28 + 20 - 16 = 32.
  return power_of_half(distance * kLog2e / temperature >> 16);
}

/// floor(x * fraction / 2^64).
SYNCOPATE_HOST_DEVICE inline std::uint64_t scaled(std::uint64_t x, std::uint64_t fraction) {
  constexpr std::uint64_t kLow = UINT32_MAX;
  const std::uint64_t low = (x & kLow) * (fraction & kLow);
  const std::uint64_t mid = (x >> 32) * (fraction & kLow) + (low >> 32);
  const std::uint64_t other = (x & kLow) * (fraction >> 32) + (mid & kLow);
  return (x >> 32) * (fraction >> 32) + (mid >> 32) + (other >> 32);
}

/// ceil(total * share), share in Q16; total below 2^56.
SYNCOPATE_HOST_DEVICE inline std::uint64_t share_of(std::uint64_t total, std::uint32_t share) {
  constexpr std::uint64_t kLow = RowSampling::kOne - 1;
  return (total >> 16) * share + (((total & kLow) * share + kLow) >> 16);
}

}  // namespace syncopate::models::hash
