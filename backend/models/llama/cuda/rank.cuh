// The order of a row's ids, as numbers.
#pragma once

#include <cstdint>

namespace syncopate::models::llama {

/// An id with its score: the larger comes first. Scores stand in the upper 32 bits, ordered as
/// numbers are (-0 is 0), and the lower id comes first among equals.
using Rank = unsigned long long;

/// Of the ids of one vocabulary.
class Ranking {
 public:
  explicit Ranking(std::uint32_t vocab) : vocab_(vocab) {
    while (id_bits_ < 32 && vocab - 1 >> id_bits_ != 0) ++id_bits_;
  }

  /// Bits that an id takes, and a rank.
  __device__ unsigned id_bits() const { return id_bits_; }
  __device__ unsigned bits() const { return 32 + id_bits_; }
  __device__ std::uint32_t vocab() const { return vocab_; }

  /// A score is no NaN.
  __device__ Rank rank(float score, std::uint32_t id) const {
    const std::uint32_t bits = __float_as_uint(score + 0.0f);
    const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
    return Rank{ordered} << id_bits_ | (vocab_ - 1 - id);
  }
  /// In the vocabulary, whatever `rank` is.
  __device__ std::uint32_t id(Rank rank) const {
    const auto from_last = static_cast<std::uint32_t>(rank & ((Rank{1} << id_bits_) - 1));
    return vocab_ - 1 - min(from_last, vocab_ - 1);
  }
  __device__ float score(Rank rank) const {
    const auto ordered = static_cast<std::uint32_t>(rank >> id_bits_);
    return __uint_as_float((ordered >> 31) != 0 ? ordered & 0x7fffffffU : ~ordered);
  }

 private:
  std::uint32_t vocab_;
  unsigned id_bits_ = 0;
};

/// The largest rank that a lane of the warp has; all lanes call it and get the same.
__device__ inline Rank warp_max(Rank mine) {
  for (int distance = 16; distance > 0; distance /= 2) {
    mine = max(mine, __shfl_xor_sync(0xffffffffU, mine, distance));
  }
  return mine;
}

}  // namespace syncopate::models::llama
