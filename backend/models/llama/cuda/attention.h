// Attention over the KV pages: FlashInfer's paged prefill, for prefill, chunks and decode alike.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/models/llama/config.h"
#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/kv_pool.h"
#include "backend/models/llama/cuda/step_plan.h"

namespace syncopate::models::llama {

/// Whether attention is compiled for this shape; else why not, for a message, naming the key:
/// head_dim 64 or 128. Empty: it is.
const char* attention_lacks(const LlamaConfig& config);

/// out[t] = softmax(q k^T / sqrt(head_dim)) v for each query head of each token of the batch, over
/// the entries 0..position of its row in `layer` of the pool. Queries are the rotated ones in `qkv`
/// [tokens, query | key | value]; out is [tokens, query]. One chunk of keys for each tile of
/// queries, in order, so that a token's bits depend on its own row alone; with one tile size also
/// not on how many of its tokens a step holds. May be captured. Throws CudaError.
void enqueue_attention(cudaStream_t stream, const LlamaConfig& config, const StepShape& shape,
                       const StepPlan& plan, const KvPool& pool, std::uint32_t layer,
                       const Bf16* qkv, Bf16* out);

}  // namespace syncopate::models::llama
