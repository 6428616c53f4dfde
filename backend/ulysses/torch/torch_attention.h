// Attention on the host by libtorch: as exact as its element type, and fast enough to make passes
// of real sizes.
#pragma once

#include "backend/ulysses/attention.h"

namespace syncopate::ulysses {

/// at::scaled_dot_product_attention on views of the band's tensors: q, k and v are not copied, and
/// only the result is, from libtorch's tensor into the band's output. Any element type, any head
/// dimension. Query heads that share a K/V head are one call, in which that head is repeated by a
/// stride of 0, so a band may begin and end inside of a group.
///
/// libtorch's threads are the process's: at::set_num_threads() before the run says how many work at
/// one band. It allocates its results, which the seam asks kernels not to: a runtime that counts
/// allocations sees them.
class TorchAttention final : public Attention {
 public:
  const char* kind() const override { return "torch"; }
  void check(const AttentionBand& /*band*/) const override {}
  runtime::Kernel kernel(const AttentionBand& band, const AttentionBuffers& buffers) const override;
};

}  // namespace syncopate::ulysses
