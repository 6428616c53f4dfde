#include "experiments/run/attentions.h"

#include <algorithm>

#include "backend/runtime/error.h"

#if SYNCOPATE_HAS_CUDNN
#include "backend/ulysses/cuda/device_attention.h"
#endif
#if SYNCOPATE_HAS_NCCL
#include "backend/ulysses/cuda/nccl/nccl_device.h"
#endif
#if SYNCOPATE_HAS_TORCH
#include "backend/ulysses/torch/torch_attention.h"
#else
#include "backend/ulysses/host_attention.h"
#endif

namespace syncopate::experiments {
namespace {

#if SYNCOPATE_HAS_CUDNN || SYNCOPATE_HAS_NCCL
int gpus_of(const UlyssesConfig& config) {
  return static_cast<int>(config.runtime.devices.value_or(config.shape.world));
}
#endif

}  // namespace

std::unique_ptr<ulysses::Attention> make_attention(const UlyssesConfig& config) {
  const RuntimeKind runtime = config.runtime.kind;
  if (const std::string missing = what_is_missing_for_attention(runtime); !missing.empty()) {
    throw runtime::UnavailableError("attention is not available: " + missing);
  }
#if SYNCOPATE_HAS_CUDNN
  if (runtime == RuntimeKind::kCuda) {
    return std::make_unique<ulysses::cuda::DeviceAttention>(gpus_of(config));
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
  const bool needs = runtime == RuntimeKind::kCuda && transport == ulysses::Transport::kNccl;
  return needs && !SYNCOPATE_HAS_NCCL ? "built without NCCL" : "";
}

std::unique_ptr<ulysses::PackedDevice> make_packed_device(const UlyssesConfig& config) {
  const bool any = std::ranges::any_of(config.variants, [](const VariantConfig& variant) {
    return variant.transport == ulysses::Transport::kNccl;
  });
  if (!any || config.runtime.kind != RuntimeKind::kCuda) return nullptr;
#if SYNCOPATE_HAS_NCCL
  return ulysses::cuda::make_nccl_device(gpus_of(config));
#else
  throw runtime::UnavailableError("transport nccl is not available: " +
                                  what_is_missing(ulysses::Transport::kNccl, config.runtime.kind));
#endif
}

}  // namespace syncopate::experiments
