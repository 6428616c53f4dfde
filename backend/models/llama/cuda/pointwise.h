// What a step does to its tokens between the linear layers. Activations are bf16, row-major and
// dense, `tokens` of them with padding; each function enqueues one kernel, and sums in fp32. A
// token's bits do not depend on other tokens.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/models/llama/cuda/bf16.h"
#include "backend/models/llama/cuda/device_weights.h"
#include "backend/models/llama/cuda/kv_pool.h"
#include "backend/models/llama/cuda/step_plan.h"

namespace syncopate::models::llama {

struct NormWeights {
  const Bf16* values;  ///< [hidden]
  float eps;
};

/// residual[t] = embedding[plan.id[t]]; normed[t] = rms_norm(residual[t]).
void enqueue_embed(cudaStream_t stream, std::uint32_t tokens, const StepPlan& plan,
                   const DeviceMatrix& embedding, const NormWeights& norm, Bf16* residual,
                   Bf16* normed);

/// residual[t] += x[t], rounded to bf16; normed[t] = rms_norm(residual[t]).
void enqueue_add_norm(cudaStream_t stream, std::uint32_t tokens, std::uint32_t hidden,
                      const Bf16* x, const NormWeights& norm, Bf16* residual, Bf16* normed);

/// The end of the last layer, for the last token t of each of `rows` rows alone:
/// normed[r] = rms_norm(residual[t] + x[t]).
void enqueue_last_norm(cudaStream_t stream, std::uint32_t rows, std::uint32_t hidden,
                       const StepPlan& plan, const Bf16* x, const Bf16* residual,
                       const NormWeights& norm, Bf16* normed);

/// Rotates the queries of `qkv` [tokens, query | key | value] in place by their positions, and
/// writes the rotated keys and the values to the tokens' KV entries in `layer`. `frequencies`
/// [head_dim / 2] as rope_frequencies() gives them, in device memory.
void enqueue_rope_append(cudaStream_t stream, std::uint32_t tokens, std::uint32_t heads,
                         const StepPlan& plan, const float* frequencies, const KvPool& pool,
                         std::uint32_t layer, Bf16* qkv);

/// out[t] = silu(gate[t]) * up[t], of gate_up [tokens, gate | up].
void enqueue_swiglu(cudaStream_t stream, std::uint32_t tokens, std::uint32_t intermediate,
                    const Bf16* gate_up, Bf16* out);

}  // namespace syncopate::models::llama
