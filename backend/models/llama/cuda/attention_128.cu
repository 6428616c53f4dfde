#include "backend/models/llama/cuda/attention_kernels.cuh"

namespace syncopate::models::llama {

template void enqueue_attention_of<128>(cudaStream_t, const LlamaConfig&, const StepShape&,
                                        const StepPlan&, const KvPool&, std::uint32_t, const Bf16*,
                                        Bf16*);

}  // namespace syncopate::models::llama
