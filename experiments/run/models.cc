#include "experiments/run/models.h"

#include "backend/models/hash/hash_model.h"
#include "backend/runtime/error.h"
#include "experiments/run/shape_model.h"

#if SYNCOPATE_HAS_TORCH
#include "backend/models/llama/llama.h"
#endif

namespace syncopate::experiments {
namespace {

std::unique_ptr<models::Model> make_llama_model([[maybe_unused]] const LlamaModelConfig& c) {
  if (const std::string missing = what_is_missing(LlamaModelConfig::kKind); !missing.empty()) {
    throw runtime::UnavailableError("model llama is not available: " + missing);
  }
#if SYNCOPATE_HAS_TORCH
  const models::llama::LlamaOptions options{.invariant = c.invariant};
  return c.shape ? models::llama::make_llama(*c.shape, c.seed, options)
                 : models::llama::load_llama(c.checkpoint.value(), options);
#else
  return nullptr;
#endif
}

}  // namespace

std::unique_ptr<models::Model> make_model(const ResolvedConfig& config) {
  if (const auto* c = std::get_if<HashModelConfig>(&config.config.model)) {
    return std::make_unique<models::hash::HashModel>(models::hash::HashConfig{
        .vocab = c->vocab, .max_positions = c->max_positions, .seed = c->seed});
  }
  const auto& llama = std::get<LlamaModelConfig>(config.config.model);
  if (needs_sizes_only(config)) return std::make_unique<ShapeModel>(llama.shape.value());
  return make_llama_model(llama);
}

bool needs_sizes_only(const ResolvedConfig& config) {
  const auto* llama = std::get_if<LlamaModelConfig>(&config.config.model);
  return llama != nullptr && llama->shape && !config.config.runtime.effects;
}

std::string what_is_missing([[maybe_unused]] std::string_view model) {
#if SYNCOPATE_HAS_TORCH
  return "";
#else
  return model == LlamaModelConfig::kKind
             ? "built without libtorch, so it can only be timed, in sim with effects off"
             : "";
#endif
}

}  // namespace syncopate::experiments
