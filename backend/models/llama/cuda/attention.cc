#include "backend/models/llama/cuda/attention.h"

#include <string>

#include "backend/models/llama/cuda/attention_kernels.h"
#include "backend/runtime/error.h"

namespace syncopate::models::llama {

const char* attention_lacks(const LlamaConfig& config) {
  return config.head_dim == 64 || config.head_dim == 128
             ? ""
             : "head_dim must be 64 or 128, which attention is compiled for";
}

void enqueue_attention(cudaStream_t stream, const LlamaConfig& config, const StepShape& shape,
                       const StepPlan& plan, const KvPool& pool, std::uint32_t layer,
                       const Bf16* qkv, Bf16* out) {
  switch (config.head_dim) {
    case 64:
      return enqueue_attention_of<64>(stream, config, shape, plan, pool, layer, qkv, out);
    case 128:
      return enqueue_attention_of<128>(stream, config, shape, plan, pool, layer, qkv, out);
    default:
      throw runtime::UsageError(attention_lacks(config));
  }
}

}  // namespace syncopate::models::llama
