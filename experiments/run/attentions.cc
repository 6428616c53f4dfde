#include "experiments/run/attentions.h"

#include "backend/runtime/error.h"

#if SYNCOPATE_HAS_TORCH
#include "backend/ulysses/torch/torch_attention.h"
#else
#include "backend/ulysses/host_attention.h"
#endif

namespace syncopate::experiments {

std::unique_ptr<ulysses::Attention> make_attention(RuntimeKind runtime) {
  if (const std::string missing = what_is_missing_for_attention(runtime); !missing.empty()) {
    throw runtime::UnavailableError("attention is not available: " + missing);
  }
#if SYNCOPATE_HAS_TORCH
  return std::make_unique<ulysses::TorchAttention>();
#else
  return std::make_unique<ulysses::HostAttention>();
#endif
}

std::string what_is_missing_for_attention(RuntimeKind runtime) {
  return runtime == RuntimeKind::kCuda ? "there is none for CUDA" : "";
}

}  // namespace syncopate::experiments
