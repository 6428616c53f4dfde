// The forward pass on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/models/batch_view.h"
#include "backend/models/history.h"
#include "backend/models/llama/config.h"
#include "backend/models/llama/cpu/linear.h"
#include "backend/models/llama/weights.h"

namespace syncopate::models::llama {

/// A transformer ready to run: the configuration, and the weights in the form that the linear
/// layers want. Immutable once made; safe to use from any thread, each step with its own memory.
class CpuForward {
 public:
  CpuForward(const LlamaConfig& config, Weights weights, LinearMode mode);

  const LlamaConfig& config() const { return config_; }

  /// One step over `batch`, which has `limits`: writes its tokens' entries in `pool` (KvLayout) and
  /// their ids to `history`, passes through `workspace` (WorkspaceLayout, where the logits stay),
  /// writes next_id[batch.rows()]. A row without tokens, which no sound batch has, has logits of 0.
  void step(const BatchView& batch, const BatchLimits& limits, float* pool,
            const HistoryView& history, float* workspace, std::int32_t* next_id) const;

 private:
  struct Layer {
    std::vector<float> attention_norm;
    Linear qkv, attention_out;
    std::vector<float> mlp_norm;
    Linear gate_up, down;
  };
  struct Step;  // the pointers of one step

  void embed(const Step& step) const;
  void attention(const Step& step, std::uint32_t layer) const;
  void mlp(const Step& step, const Layer& layer) const;
  void sample(const Step& step, const HistoryView& history, std::int32_t* next_id) const;
  void norm_rows(const float* x, const std::vector<float>& weight, std::uint32_t rows,
                 float* out) const;

  LlamaConfig config_;
  std::vector<float> frequencies_;  // of RoPE
  Matrix embedding_;
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  Linear head_;
};

}  // namespace syncopate::models::llama
