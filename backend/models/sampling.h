// Sampling: how a row's next token is chosen from its logits. Chosen on the device, so that a step
// needs nothing of the one before from the host; the parameters travel in the step's input block.
#pragma once

#include <array>
#include <cstdint>

namespace syncopate::models {

/// Greedy by default. In order: the repetition penalty, the temperature, top_k, top_p, min_p, and
/// then a draw that depends on nothing but the seed and the token's position: so the same request
/// gives the same tokens in any batch, with any strategy, and when it is computed again.
/// Fractions are kept in steps of 1/65536.
struct Sampling {
  double temperature = 0;   ///< 0: greedy, the largest logit; else logits are divided by it.
  std::uint32_t top_k = 0;  ///< Only the k largest; 0: all.
  double top_p = 1;         ///< Only the fewest largest that hold this share; 1: all.
  double min_p = 0;         ///< Only what has at least this share of the largest's; 0: all.
  /// Above 1: what the prompt or the answer holds becomes less likely; 1: none.
  double repetition_penalty = 1;
  std::uint64_t seed = 0;
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

/// Words of the input block that hold one row's sampling. All 0: greedy, without a penalty. In
/// order: temperature, top_k, 1 - top_p, min_p, repetition_penalty - 1 (fractions in 1/65536), the
/// low and the high half of the seed, and one that keeps rows at 32 bytes.
inline constexpr std::uint32_t kSamplingWords = 8;
using SamplingWords = std::array<std::int32_t, kSamplingWords>;

/// Throws runtime::UsageError for a parameter out of its range, naming it: temperature in [0, 100],
/// top_p in (0, 1], min_p in [0, 1], repetition_penalty in (0, 100].
SamplingWords encode(const Sampling& sampling);

}  // namespace syncopate::models
