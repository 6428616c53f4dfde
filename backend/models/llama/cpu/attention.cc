#include "backend/models/llama/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/models/llama/cpu/simd.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint32_t kTile = 64;

/// The keys of head 0 at positions [begin, end): a page at a time, as a page's are contiguous.
SYNCOPATE_INLINE void find_keys(const KvLayout& layout, const BatchView& batch, std::uint32_t layer,
                                std::uint32_t row, std::uint32_t begin, std::uint32_t end,
                                const float* pool, const float** keys) {
  const auto page_tokens = static_cast<std::uint32_t>(layout.page_tokens);
  for (std::uint32_t p = begin; p < end;) {
    const float* key = pool + layout.key(batch.kv_entry(row, p), layer);
    const std::uint32_t page_end = std::min(end, p - p % page_tokens + page_tokens);
    for (; p < page_end; ++p, key += layout.head_dim) *keys++ = key;
  }
}

SYNCOPATE_INLINE float dot(const float* a, const float* b, std::size_t size) {
  Float8 total = as_float8(a) * as_float8(b);
  for (std::size_t d = kLanes; d < size; d += kLanes) total += as_float8(a + d) * as_float8(b + d);
  return sum(total);
}

/// out = out * keep + sum over i of weights[i] * (rows[i] + offset), for kVectors vectors.
template <int kVectors>
SYNCOPATE_INLINE void add_weighted(const float* const* rows, std::size_t offset,
                                   const float* weights, std::uint32_t count, float keep,
                                   float* out) {
  Float8 total[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) total[v] = as_float8(out + v * kLanes) * keep;
  for (std::uint32_t i = 0; i < count; ++i) {
    const float* row = rows[i] + offset;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) total[v] += weights[i] * as_float8(row + v * kLanes);
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) as_float8(out + v * kLanes) = total[v];
}

}  // namespace

SYNCOPATE_VECTORISED
void attend(const LlamaConfig& config, const KvLayout& layout, const BatchView& batch,
            std::uint32_t layer, std::uint32_t row, std::uint32_t position, const float* pool,
            const float* query, float* out) {
  const std::size_t head_dim = config.head_dim;
  const std::uint32_t group = config.heads / config.kv_heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  for (std::uint32_t head = 0; head < config.heads; ++head, query += head_dim, out += head_dim) {
    const std::uint64_t key_offset = head / group * layout.head_floats;
    const std::uint64_t value_offset = key_offset + layout.value_floats;
    std::fill_n(out, head_dim, 0.0f);
    float maximum = std::numeric_limits<float>::lowest();
    Float8 total = {};
    for (std::uint32_t begin = 0; begin <= position; begin += kTile) {
      const std::uint32_t end = std::min(begin + kTile, position + 1);
      const std::uint32_t count = end - begin;
      const float* keys[kTile];
      float weights[kTile];
      find_keys(layout, batch, layer, row, begin, end, pool, keys);

      const float before = maximum;
      for (std::uint32_t i = 0; i < count; ++i) {
        weights[i] = dot(query, keys[i] + key_offset, head_dim) * scale;
        maximum = std::max(maximum, weights[i]);
      }
      // The last vector's unused lanes stay finite on the way, and add nothing.
      const std::uint32_t padded = (count + kLanes - 1) / kLanes * kLanes;
      std::fill(weights + count, weights + padded, maximum);
      exp_in_place(weights, count, maximum);
      std::fill(weights + count, weights + padded, 0.0f);
      const float keep = std::exp(before - maximum);
      total *= keep;
      for (std::uint32_t i = 0; i < count; i += kLanes) total += as_float8(weights + i);

      std::size_t d = 0;
      for (; d + 4 * kLanes <= head_dim; d += 4 * kLanes)
        add_weighted<4>(keys, value_offset + d, weights, count, keep, out + d);
      for (; d < head_dim; d += kLanes)
        add_weighted<1>(keys, value_offset + d, weights, count, keep, out + d);
    }
    const float inverse = 1.0f / sum(total);
    for (std::size_t d = 0; d < head_dim; ++d) out[d] *= inverse;
  }
}

}  // namespace syncopate::models::llama
