#include "experiments/run/available.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "backend/ulysses/error.h"
#include "experiments/run/attentions.h"
#include "experiments/run/benchmark_options.h"
#include "experiments/run/engines.h"
#include "experiments/run/models.h"
#include "experiments/yaml/error.h"

namespace syncopate::experiments {
namespace {

/// Whether this build has an attention for the runtime, which takes such bands, and what moves
/// them.
template <class Fail>
void check_parts(const UlyssesConfig& c, const Fail& fail) {
  if (const std::string missing = what_is_missing_for_attention(c.runtime.kind); !missing.empty()) {
    fail("runtime.kind", "attention is not available: " + missing);
  }
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    const std::optional<Transport> transport = c.variants[i].transport;
    if (!transport) continue;  // auto takes what there is
    const std::string missing = what_is_missing(*transport, c.runtime.kind);
    if (missing.empty()) continue;
    fail(fmt::format("variants[{}].transport", i),
         fmt::format("{} is not available: {}", yaml::name_of(*transport), missing));
  }
  ulysses::LayoutOptions options = layout_options(c.shape);
  options.schedule = {options.heads / c.shape.world};
  try {
    const ulysses::HeadChunkLayout layout(std::move(options));
    make_attention(c)->check(ulysses::attention_band(layout, 0, 0, c.shape.causal));
  } catch (const ulysses::UlyssesError& error) {
    fail("shape", error.what());
  }
}

}  // namespace

void check_available(const ResolvedConfig& config) {
  const auto fail = [&](const std::string& path, const std::string& message) {
    throw yaml::ConfigError(config.origins.find(path), fmt::format("{}: {}", path, message));
  };
  const RuntimeConfig& runtime = runtime_of(config.config);
  if (const std::string missing = what_is_missing(runtime.kind, gpus_for(config.config));
      !missing.empty()) {
    fail("runtime.kind",
         fmt::format("{} is not available: {}", yaml::name_of(runtime.kind), missing));
  }
  if (output_of(config.config).kernels) {
    if (const std::string missing = what_is_missing_for_kernels(); !missing.empty()) {
      fail("output.kernels", "kernels cannot be recorded: " + missing);
    }
  }
  if (const auto* c = std::get_if<UlyssesConfig>(&config.config)) {
    check_parts(*c, fail);
    return;
  }
  const auto& batching = std::get<BatchingConfig>(config.config);
  const auto* llama = std::get_if<LlamaModelConfig>(&batching.model);
  if (llama == nullptr || needs_sizes_only(batching)) return;
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
