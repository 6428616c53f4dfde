// Attention for one head_dim, each compiled in a file of its own: they take long.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/models/llama/config.h"
#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/kv_pool.h"
#include "backend/models/llama/cuda/step_plan.h"

namespace syncopate::models::llama {

/// enqueue_attention() (attention.h) where config.head_dim is kHeadDim. Defined for 64 and 128.
template <std::uint32_t kHeadDim>
void enqueue_attention_of(cudaStream_t stream, const LlamaConfig& config, const StepShape& shape,
                          const StepPlan& plan, const KvPool& pool, std::uint32_t layer,
                          const Bf16* qkv, Bf16* out);

}  // namespace syncopate::models::llama
