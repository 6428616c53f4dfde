// Attention of one token over its request's pages.
#pragma once

#include <cstdint>

#include "backend/models/batch_view.h"
#include "backend/models/llama/config.h"
#include "backend/models/llama/kv_layout.h"

namespace syncopate::models::llama {

/// Causal attention of the token at `position` of row `row` over the entries 0..position, which the
/// pool holds: out[query_size] = softmax(q k^T / sqrt(head_dim)) v for each head.
///
/// One pass with a running maximum and sum (Milakov and Gimelshein 2018, "Online normalizer
/// calculation for softmax") over tiles of positions that start at multiples of the tile's size. So
/// the bits depend on the prefix only: not on the page size, nor on whether other tokens are
/// computed in the same step. `pool` and `query` are read, `out` is written.
void attend(const LlamaConfig& config, const KvLayout& layout, const BatchView& batch,
            std::uint32_t layer, std::uint32_t row, std::uint32_t position, const float* pool,
            const float* query, float* out);

}  // namespace syncopate::models::llama
