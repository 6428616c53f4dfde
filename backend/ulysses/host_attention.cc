#include "backend/ulysses/host_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/ulysses/error.h"

namespace syncopate::ulysses {
namespace {

/// One query over the first `keys` rows of k and v, which are `stride` elements apart.
void attend_query(const float* q, const float* k, const float* v, std::uint64_t keys,
                  std::uint64_t stride, std::uint32_t dim, float* out) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  float most = -std::numeric_limits<float>::infinity();
  float sum = 0;
  std::fill_n(out, dim, 0.0F);
  for (std::uint64_t key = 0; key < keys; ++key) {
    const float* k_row = k + key * stride;
    const float* v_row = v + key * stride;
    float score = 0;
    for (std::uint32_t d = 0; d < dim; ++d) score += q[d] * k_row[d];
    score *= scale;
    const float before = most;
    most = std::max(most, score);
    const float fade = std::exp(before - most);  // 0 for the first key
    const float weight = std::exp(score - most);
    sum = sum * fade + weight;
    for (std::uint32_t d = 0; d < dim; ++d) out[d] = out[d] * fade + weight * v_row[d];
  }
  for (std::uint32_t d = 0; d < dim; ++d) out[d] /= sum;
}

struct AttendArgs {
  const AttentionBand* band;
  AttentionBuffers buffers;
};

void attend(runtime::Exec& exec, const AttendArgs& args) {
  const AttentionBand& band = *args.band;
  const std::byte* slot = exec.data<const std::byte>(args.buffers.inputs) + args.buffers.slot;
  const auto* q = reinterpret_cast<const float*>(slot + band.q);
  const auto* k = reinterpret_cast<const float*>(slot + band.k);
  const auto* v = reinterpret_cast<const float*>(slot + band.v);
  auto* out = reinterpret_cast<float*>(exec.data<std::byte>(args.buffers.output) + band.output);
  const std::uint64_t kv_stride = std::uint64_t{band.kv_heads} * band.head_dim;
  for (std::uint64_t b = 0; b < band.batch; ++b) {
    for (std::uint64_t t = 0; t < band.tokens; ++t) {
      for (std::uint32_t head = 0; head < band.query_heads; ++head) {
        const std::uint64_t row = (b * band.tokens + t) * band.query_heads + head;
        const std::uint64_t kv = b * band.tokens * kv_stride +
                                 std::uint64_t{(band.lead + head) / band.group} * band.head_dim;
        attend_query(q + row * band.head_dim, k + kv, v + kv, band.causal ? t + 1 : band.tokens,
                     kv_stride, band.head_dim, out + row * band.head_dim);
      }
    }
  }
}

}  // namespace

void HostAttention::check(const AttentionBand& band) const {
  if (band.element_bytes == sizeof(float)) return;
  throw UlyssesError(Fault::kUnsupported, "attention on the host takes elements of 4 bytes, not " +
                                              std::to_string(band.element_bytes));
}

runtime::Kernel HostAttention::kernel(const AttentionBand& band,
                                      const AttentionBuffers& buffers) const {
  return {.host = runtime::Body::of<attend>(AttendArgs{&band, buffers}), .cuda = {}};
}

}  // namespace syncopate::ulysses
