#include "experiments/run/available.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "experiments/run/engines.h"
#include "experiments/run/models.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments {

void check_available(const ResolvedConfig& config) {
  const auto fail = [&](const char* path, const std::string& message) {
    throw yaml::ConfigError(config.origins.find(path), fmt::format("{}: {}", path, message));
  };
  const RuntimeConfig& runtime = runtime_of(config.config);
  if (const std::string missing = what_is_missing(runtime.kind); !missing.empty()) {
    fail("runtime.kind",
         fmt::format("{} is not available: {}", yaml::name_of(runtime.kind), missing));
  }
  if (output_of(config.config).kernels) {
    if (const std::string missing = what_is_missing_for_kernels(); !missing.empty()) {
      fail("output.kernels", "kernels cannot be recorded: " + missing);
    }
  }
  const auto* batching = std::get_if<BatchingConfig>(&config.config);
  if (batching == nullptr) return;
  const auto* llama = std::get_if<LlamaModelConfig>(&batching->model);
  if (llama == nullptr || needs_sizes_only(*batching)) return;
  if (const std::string missing = what_is_missing(LlamaModelConfig::kKind, runtime.kind);
      !missing.empty()) {
    fail("model.kind", fmt::format("llama is not available: {}", missing));
  }
  if (llama->shape) {
    const std::string wrong = what_is_wrong(*llama->shape, runtime.kind);
    if (!wrong.empty()) fail("model.shape", wrong);
  }
  std::error_code error;
  if (llama->checkpoint && !std::filesystem::is_directory(*llama->checkpoint, error)) {
    fail("model.checkpoint", "no such folder: " + *llama->checkpoint);
  }
}

}  // namespace syncopate::experiments
