#include "experiments/run/attentions.h"

#include "backend/runtime/error.h"

#if SYNCOPATE_HAS_CUDNN
#include "backend/ulysses/cuda/device_attention.h"
#endif
#if SYNCOPATE_HAS_TORCH
#include "backend/ulysses/torch/torch_attention.h"
#else
#include "backend/ulysses/host_attention.h"
#endif

namespace syncopate::experiments {

std::unique_ptr<ulysses::Attention> make_attention(const UlyssesConfig& config) {
  const RuntimeKind runtime = config.runtime.kind;
  if (const std::string missing = what_is_missing_for_attention(runtime); !missing.empty()) {
    throw runtime::UnavailableError("attention is not available: " + missing);
  }
#if SYNCOPATE_HAS_CUDNN
  if (runtime == RuntimeKind::kCuda) {
    const std::uint32_t gpus = config.runtime.devices.value_or(config.shape.world);
    return std::make_unique<ulysses::cuda::DeviceAttention>(static_cast<int>(gpus));
  }
#endif
#if SYNCOPATE_HAS_TORCH
  return std::make_unique<ulysses::TorchAttention>();
#else
  return std::make_unique<ulysses::HostAttention>();
#endif
}

std::string what_is_missing_for_attention(RuntimeKind runtime) {
  const bool lacks = runtime == RuntimeKind::kCuda && !SYNCOPATE_HAS_CUDNN;
  return lacks ? "built without cuDNN, which it needs on CUDA" : "";
}

std::string what_is_missing(ulysses::Transport transport, RuntimeKind runtime) {
  const bool lacks = runtime == RuntimeKind::kCuda && transport == ulysses::Transport::kNccl;
  return lacks ? "built without NCCL" : "";
}

}  // namespace syncopate::experiments
