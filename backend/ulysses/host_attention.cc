#include "backend/ulysses/host_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "backend/ulysses/error.h"

namespace syncopate::ulysses {
namespace {

/// One query over the first `keys` rows of k and v, which are `stride` elements apart. `sums` has
/// room for `dim`.
template <class T>
void attend_query(const T* q, const T* k, const T* v, std::uint64_t keys, std::uint64_t stride,
                  std::uint32_t dim, float* sums, T* out) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  float most = -std::numeric_limits<float>::infinity();
  float sum = 0;
  std::fill_n(sums, dim, 0.0F);
  for (std::uint64_t key = 0; key < keys; ++key) {
    const T* k_row = k + key * stride;
    const T* v_row = v + key * stride;
    float score = 0;
    for (std::uint32_t d = 0; d < dim; ++d) score += to_float(q[d]) * to_float(k_row[d]);
    score *= scale;
    const float before = most;
    most = std::max(most, score);
    const float fade = std::exp(before - most);  // 0 for the first key
    const float weight = std::exp(score - most);
    sum = sum * fade + weight;
    for (std::uint32_t d = 0; d < dim; ++d) sums[d] = sums[d] * fade + weight * to_float(v_row[d]);
  }
  for (std::uint32_t d = 0; d < dim; ++d) out[d] = from_float<T>(sums[d] / sum);
}

struct AttendArgs {
  const AttentionBand* band;
  AttentionBuffers buffers;
};

template <class T>
void attend(runtime::Exec& exec, const AttendArgs& args) {
  const AttentionBand& band = *args.band;
  const std::byte* slot = exec.data<const std::byte>(args.buffers.inputs) + args.buffers.slot;
  const auto* q = reinterpret_cast<const T*>(slot + band.q);
  const auto* k = reinterpret_cast<const T*>(slot + band.k);
  const auto* v = reinterpret_cast<const T*>(slot + band.v);
  auto* out = reinterpret_cast<T*>(exec.data<std::byte>(args.buffers.output) + band.output);
  const std::uint64_t kv_stride = std::uint64_t{band.kv_heads} * band.head_dim;
  std::array<float, HostAttention::kMaxHeadDim> sums;
  for (std::uint64_t b = 0; b < band.batch; ++b) {
    for (std::uint64_t t = 0; t < band.tokens; ++t) {
      for (std::uint32_t head = 0; head < band.query_heads; ++head) {
        const std::uint64_t row = (b * band.tokens + t) * band.query_heads + head;
        const std::uint64_t kv = b * band.tokens * kv_stride +
                                 std::uint64_t{(band.lead + head) / band.group} * band.head_dim;
        attend_query(q + row * band.head_dim, k + kv, v + kv, band.causal ? t + 1 : band.tokens,
                     kv_stride, band.head_dim, sums.data(), out + row * band.head_dim);
      }
    }
  }
}

}  // namespace

void HostAttention::check(const AttentionBand& band) const {
  if (band.head_dim <= kMaxHeadDim) return;
  throw UlyssesError(Fault::kUnsupported, "attention on the host takes heads of at most " +
                                              std::to_string(kMaxHeadDim) + " elements, not " +
                                              std::to_string(band.head_dim));
}

runtime::Kernel HostAttention::kernel(const AttentionBand& band,
                                      const AttentionBuffers& buffers) const {
  return with_element(band.type, [&]<class T>() -> runtime::Kernel {
    return {.host = runtime::Body::of<attend<T>>(AttendArgs{&band, buffers}), .cuda = {}};
  });
}

}  // namespace syncopate::ulysses
