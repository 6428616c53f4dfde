// A transformer's sizes without its weights, for runs that take times alone.
#pragma once

#include "backend/models/llama/config.h"
#include "backend/models/llama/kv_layout.h"
#include "backend/models/model.h"

namespace syncopate::experiments {

/// Stands in for a LlamaModel where no kernel body runs (sim without effects), so that a model of
/// any size costs nothing, and a build without libtorch can time one. Its kernels have no bodies.
class ShapeModel final : public models::Model {
 public:
  explicit ShapeModel(const models::llama::LlamaConfig& config) : config_(config) {}

  const char* kind() const override { return "llama"; }
  std::uint32_t vocab() const override { return config_.vocab; }
  std::uint32_t max_positions() const override { return config_.max_position; }
  std::uint64_t kv_page_bytes(const models::BatchLimits& limits) const override {
    return models::llama::KvLayout(config_, limits.page_tokens).page_floats * sizeof(float);
  }
  std::uint64_t kv_entry_bytes() const override { return 0; }
  std::uint64_t workspace_bytes(const models::BatchLimits&) const override { return 0; }
  models::GraphKey graph_key(std::uint32_t, std::uint32_t, std::uint32_t) const override {
    return {};
  }
  runtime::Kernel forward(const models::BatchLayout&, const models::StepBuffers&,
                          const models::GraphKey&) const override {
    return {};
  }

 private:
  models::llama::LlamaConfig config_;
};

}  // namespace syncopate::experiments
