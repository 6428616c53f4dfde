#include "experiments/run/attentions.h"

#include "backend/runtime/error.h"
#include "backend/ulysses/host_attention.h"

namespace syncopate::experiments {

std::unique_ptr<ulysses::Attention> make_attention(RuntimeKind runtime) {
  if (const std::string missing = what_is_missing_for_attention(runtime); !missing.empty()) {
    throw runtime::UnavailableError("attention is not available: " + missing);
  }
  return std::make_unique<ulysses::HostAttention>();
}

std::string what_is_missing_for_attention(RuntimeKind runtime) {
  return runtime == RuntimeKind::kCuda ? "there is none for CUDA" : "";
}

}  // namespace syncopate::experiments
