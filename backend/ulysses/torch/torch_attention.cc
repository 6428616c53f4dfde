#include "backend/ulysses/torch/torch_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace syncopate::ulysses {
namespace {

at::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::kFp16:
      return at::kHalf;
    case ElementType::kBf16:
      return at::kBFloat16;
    case ElementType::kFp32:
      break;
  }
  return at::kFloat;
}

/// A dense [batch, tokens, heads, dim] as libtorch counts it: [batch, heads, tokens, dim].
at::Tensor view_heads(const AttentionBand& band, std::byte* data, std::uint32_t heads) {
  return at::from_blob(data,
                       {std::int64_t{band.batch}, std::int64_t{band.tokens}, std::int64_t{heads},
                        std::int64_t{band.head_dim}},
                       scalar_type(band.type))
      .transpose(1, 2);
}

void attend_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                  const at::Tensor& output) {
  output.copy_(
      at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal));
}

struct TorchArgs {
  const AttentionBand* band;
  AttentionBuffers buffers;
};

void attend_by_torch(runtime::Exec& exec, const TorchArgs& args) {
  // A thread takes libtorch's number of threads over when it first asks, and streams are threads:
  // one that never asked would have OpenMP's number, a team for each call.
  (void)at::get_num_threads();
  const c10::InferenceMode guard;
  const AttentionBand& band = *args.band;
  std::byte* const slot = exec.data<std::byte>(args.buffers.inputs) + args.buffers.slot;
  const at::Tensor q = view_heads(band, slot + band.q, band.query_heads);
  const at::Tensor k = view_heads(band, slot + band.k, band.kv_heads);
  const at::Tensor v = view_heads(band, slot + band.v, band.kv_heads);
  const at::Tensor output =
      view_heads(band, exec.data<std::byte>(args.buffers.output) + band.output, band.query_heads);
  if (band.group == 1) {
    attend_heads(q, k, v, band.causal, output);
    return;
  }
  for (std::int64_t kv = 0, head = 0; kv < band.kv_heads; ++kv) {
    // Where the next group begins, seen from the band's first query head.
    const std::int64_t next = (kv + 1) * band.group - band.lead;
    const std::int64_t count = std::min<std::int64_t>(next, band.query_heads) - head;
    const auto repeated = [&](const at::Tensor& x) {
      return x.narrow(1, kv, 1).expand({-1, count, -1, -1});
    };
    attend_heads(q.narrow(1, head, count), repeated(k), repeated(v), band.causal,
                 output.narrow(1, head, count));
    head += count;
  }
}

}  // namespace

runtime::Kernel TorchAttention::kernel(const AttentionBand& band,
                                       const AttentionBuffers& buffers) const {
  return {.host = runtime::Body::of<attend_by_torch>(TorchArgs{&band, buffers}), .cuda = {}};
}

}  // namespace syncopate::ulysses
