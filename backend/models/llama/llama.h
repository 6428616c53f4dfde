// A Llama-family transformer as a Model: RMSNorm, rotary positions, grouped-query attention over KV
// pages, SwiGLU, sampling; all in fp32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "backend/models/llama/config.h"
#include "backend/models/llama/weights.h"
#include "backend/models/model.h"

namespace syncopate::models::llama {

class CpuForward;

struct LlamaOptions {
  /// A row's bits depend on its own tokens alone: not on its batch-mates or its place among them,
  /// nor on whether its tokens came in one step, in chunks, or one by one. So a request gives the
  /// same ids under every schedule. A step then runs on its calling thread alone. Off: libtorch's
  /// matrix product, which has as many threads as the caller gave libtorch.
  bool invariant = true;
};

class LlamaModel final : public Model {
 public:
  /// `config` must be valid, `weights` of its shapes.
  LlamaModel(const LlamaConfig& config, Weights weights, LlamaOptions options);
  ~LlamaModel() override;

  const LlamaConfig& config() const;

  const char* kind() const override { return "llama"; }
  std::uint32_t vocab() const override { return config().vocab; }
  std::uint32_t max_positions() const override { return config().max_position; }
  std::uint64_t kv_page_bytes(const BatchLimits& limits) const override;
  std::uint64_t kv_entry_bytes() const override { return 0; }
  std::uint64_t workspace_bytes(const BatchLimits& limits) const override;
  GraphKey graph_key(std::uint32_t, std::uint32_t, std::uint32_t) const override { return {}; }
  runtime::Kernel forward(const BatchLayout& layout, const StepBuffers& buffers,
                          const GraphKey& key) const override;

  /// Byte of the workspace where a step leaves its logits, fp32 [rows, vocab].
  std::uint64_t logits_offset(const BatchLimits& limits) const;

 private:
  std::unique_ptr<const CpuForward> cpu_;
};

/// Random weights (random_weights). Throws ConfigError unless `config` is valid.
std::unique_ptr<LlamaModel> make_llama(const LlamaConfig& config, std::uint64_t seed,
                                       LlamaOptions options = {});

/// A Hugging Face checkpoint folder: config.json and safetensors. Throws ConfigError and
/// CheckpointError.
std::unique_ptr<LlamaModel> load_llama(const std::filesystem::path& folder,
                                       LlamaOptions options = {});

}  // namespace syncopate::models::llama
