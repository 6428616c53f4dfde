// Where keys and values lie in the KV pool.
#pragma once

#include <cstdint>

#include "backend/models/llama/config.h"

namespace syncopate::models::llama {

/// Page-major, so that a page is one range of the pool for all layers: page p is fp32
/// [layer][key | value][kv_head][page_token][head_dim] at p * page_floats. What attention reads of
/// one head in one page is contiguous.
struct KvLayout {
  std::uint64_t page_tokens, head_dim;
  std::uint64_t head_floats;   ///< From one head to the next.
  std::uint64_t value_floats;  ///< From a key to its value.
  std::uint64_t layer_floats, page_floats;

  KvLayout(const LlamaConfig& config, std::uint32_t tokens_per_page)
      : page_tokens(tokens_per_page),
        head_dim(config.head_dim),
        head_floats(page_tokens * head_dim),
        value_floats(head_floats * config.kv_heads),
        layer_floats(2 * value_floats),
        page_floats(layer_floats * config.layers) {}

  /// The key of a KV entry (BatchView::kv_entry) in head 0 of a layer, as an offset in the pool.
  std::uint64_t key(std::uint64_t entry, std::uint32_t layer) const {
    return entry / page_tokens * page_floats + layer * layer_floats +
           entry % page_tokens * head_dim;
  }
};

}  // namespace syncopate::models::llama
