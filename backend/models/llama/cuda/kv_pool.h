// Where keys and values lie in the device's KV pool.
#pragma once

#include <cstdint>

#include "backend/models/batch_layout.h"
#include "backend/models/host_device.h"
#include "backend/models/llama/config.h"
#include "backend/models/llama/cuda/bf16.h"

namespace syncopate::models::llama {

/// Layer-major: layer l is bf16 [page][key | value][kv_head][page_token][head_dim] at
/// l * layer_size. What one layer's attention reads lies together, so that it touches few of the
/// device's translation entries. Sizes and strides in elements. Trivially copyable.
struct KvPool {
  Bf16* base;
  std::uint32_t page_tokens, head_dim, kv_heads;
  std::uint32_t head_stride;   ///< From one head to the next.
  std::uint32_t value_offset;  ///< From a key to its value.
  std::uint32_t page_stride;   ///< From one page of a layer to the next.
  std::uint64_t layer_size;

  /// Made on the host; `base` may be null when only sizes are wanted.
  KvPool(const LlamaConfig& config, const BatchLimits& limits, Bf16* pool)
      : base(pool),
        page_tokens(limits.page_tokens),
        head_dim(config.head_dim),
        kv_heads(config.kv_heads),
        head_stride(page_tokens * head_dim),
        value_offset(head_stride * kv_heads),
        page_stride(2 * value_offset),
        layer_size(std::uint64_t{page_stride} * limits.pages) {}

  /// The key of a KV entry (BatchView::kv_entry) in head 0 of a layer.
  SYNCOPATE_HOST_DEVICE Bf16* key(std::uint32_t layer, std::uint32_t entry) const {
    return base + layer * layer_size + std::uint64_t{entry / page_tokens} * page_stride +
           entry % page_tokens * head_dim;
  }
};

}  // namespace syncopate::models::llama
