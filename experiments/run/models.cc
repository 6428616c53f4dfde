#include "experiments/run/models.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "backend/models/hash/hash_model.h"
#include "backend/runtime/error.h"
#include "experiments/run/shape_model.h"

#if SYNCOPATE_HAS_TORCH
#include "backend/models/llama/llama.h"
#endif
#if SYNCOPATE_HAS_FLASHINFER
#include "backend/models/llama/cuda/device_llama.h"
#endif

namespace syncopate::experiments {
namespace {

#if SYNCOPATE_HAS_TORCH
std::unique_ptr<models::Model> make_host_llama(const LlamaModelConfig& c) {
  const models::llama::LlamaOptions options{.invariant = c.invariant};
  return c.shape ? models::llama::make_llama(*c.shape, c.seed, options)
                 : models::llama::load_llama(c.checkpoint.value(), options);
}
#endif

#if SYNCOPATE_HAS_FLASHINFER
/// Where the XDG base directory specification puts what a program may find out again.
std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "syncopate";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr ? std::filesystem::path(home) / ".cache/syncopate"
                         : std::filesystem::path();
}

MadeModel make_device_llama(const LlamaModelConfig& c, const LimitsConfig& limits) {
  models::llama::DeviceLlamaOptions options{
      .rows = limits.rows, .tokens = limits.tokens, .invariant = c.invariant, .algorithms = {}};
  if (const auto folder = cache_folder(); !folder.empty()) {
    options.algorithms = folder / "gemm_algorithms.txt";
  }
  auto model = c.shape ? models::llama::make_device_llama(*c.shape, c.seed, options)
                       : models::llama::load_device_llama(c.checkpoint.value(), options);
  std::string warning = model->algorithms_lost();
  return {std::move(model), std::move(warning)};
}
#endif

MadeModel make_llama_model([[maybe_unused]] const LlamaModelConfig& c,
                           [[maybe_unused]] const LimitsConfig& limits, RuntimeKind runtime) {
  if (const std::string missing = what_is_missing(LlamaModelConfig::kKind, runtime);
      !missing.empty()) {
    throw runtime::UnavailableError("model llama is not available: " + missing);
  }
#if SYNCOPATE_HAS_FLASHINFER
  if (runtime == RuntimeKind::kCuda) return make_device_llama(c, limits);
#endif
#if SYNCOPATE_HAS_TORCH
  return {make_host_llama(c), ""};
#else
  return {};
#endif
}

}  // namespace

MadeModel make_model(const BatchingConfig& config) {
  if (const auto* c = std::get_if<HashModelConfig>(&config.model)) {
    return {std::make_unique<models::hash::HashModel>(models::hash::HashConfig{
                .vocab = c->vocab, .max_positions = c->max_positions, .seed = c->seed}),
            ""};
  }
  const auto& llama = std::get<LlamaModelConfig>(config.model);
  if (needs_sizes_only(config)) return {std::make_unique<ShapeModel>(llama.shape.value()), ""};
  return make_llama_model(llama, config.limits, config.runtime.kind);
}

bool needs_sizes_only(const BatchingConfig& config) {
  const auto* llama = std::get_if<LlamaModelConfig>(&config.model);
  return llama != nullptr && llama->shape && !config.runtime.effects;
}

std::string what_is_missing(std::string_view model, RuntimeKind runtime) {
  if (model != LlamaModelConfig::kKind) return "";
  if (runtime == RuntimeKind::kCuda) {
    return SYNCOPATE_HAS_FLASHINFER ? "" : "built without FlashInfer, which it needs on CUDA";
  }
  return SYNCOPATE_HAS_TORCH
             ? ""
             : "built without libtorch, so it can only be timed, in sim with effects off";
}

std::string what_is_wrong([[maybe_unused]] const models::llama::LlamaConfig& shape,
                          [[maybe_unused]] RuntimeKind runtime) {
#if SYNCOPATE_HAS_FLASHINFER
  if (runtime == RuntimeKind::kCuda) return models::llama::device_lacks(shape);
#endif
  return "";
}

}  // namespace syncopate::experiments
