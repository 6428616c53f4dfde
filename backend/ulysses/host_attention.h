// Attention as a plain loop in fp32 on host memory, for threads and virtual time: what is right,
// not what is fast.
#pragma once

#include "backend/ulysses/attention.h"

namespace syncopate::ulysses {

/// One pass over the keys with a running maximum and sum (Milakov, Gimelshein: "Online normalizer
/// calculation for softmax", 2018), so that it needs no memory of its own. A query's bits depend on
/// its own row and the keys alone, not on the band that it is computed in. Any element type.
class HostAttention final : public Attention {
 public:
  const char* kind() const override { return "host"; }
  static constexpr std::uint32_t kMaxHeadDim = 1024;
  void check(const AttentionBand& band) const override;
  runtime::Kernel kernel(const AttentionBand& band, const AttentionBuffers& buffers) const override;
};

}  // namespace syncopate::ulysses
