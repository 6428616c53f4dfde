#include "backend/models/llama/cpu/forward.h"

#include <algorithm>
#include <utility>

#include "backend/models/llama/cpu/attention.h"
#include "backend/models/llama/cpu/pointwise.h"
#include "backend/models/llama/cpu/sampler.h"
#include "backend/models/llama/cpu/workspace.h"
#include "backend/models/llama/kv_layout.h"
#include "backend/models/llama/rope.h"

namespace syncopate::models::llama {

struct CpuForward::Step {
  const BatchView& batch;
  const KvLayout kv;
  const WorkspaceLayout at;
  const std::uint32_t tokens;
  float* const pool;
  float* const workspace;

  float* matrix(std::uint64_t offset) const { return workspace + offset; }
  float* row(std::uint64_t offset, std::uint32_t token, std::uint32_t width) const {
    return workspace + offset + std::uint64_t{token} * width;
  }
  /// Calls fn(row, token) for every token of every row.
  template <class Fn>
  void for_each_token(Fn&& fn) const {
    for (std::uint32_t r = 0; r < batch.rows(); ++r)
      for (std::uint32_t t = batch.row_start(r); t < batch.row_end(r); ++t) fn(r, t);
  }
};

CpuForward::CpuForward(const LlamaConfig& config, Weights weights, LinearMode mode)
    : config_(config),
      frequencies_(rope_frequencies(config)),
      embedding_(std::move(weights.embedding)),
      final_norm_(std::move(weights.final_norm)),
      head_(config.tied_embeddings ? embedding_ : std::move(weights.head), mode) {
  layers_.reserve(config.layers);
  // Layer by layer, so that only one layer is ever there twice.
  for (LayerWeights& layer : weights.layers)
    layers_.push_back({std::move(layer.attention_norm), Linear(std::move(layer.qkv), mode),
                       Linear(std::move(layer.attention_out), mode), std::move(layer.mlp_norm),
                       Linear(std::move(layer.gate_up), mode),
                       Linear(std::move(layer.down), mode)});
}

void CpuForward::step(const BatchView& batch, const BatchLimits& limits, float* pool,
                      const HistoryView& history, float* workspace, std::int32_t* next_id) const {
  const Step step{
      batch,    KvLayout(config_, limits.page_tokens), {config_, limits}, batch.tokens(), pool,
      workspace};
  embed(step);
  for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
    attention(step, layer);
    mlp(step, layers_[layer]);
  }
  write_all(batch, history);
  sample(step, history, next_id);
}

void CpuForward::embed(const Step& step) const {
  const std::uint32_t half = config_.head_dim / 2;
  for (std::uint32_t t = 0; t < step.tokens; ++t) {
    std::copy_n(embedding_.row(step.batch.id(t, config_.vocab)), config_.hidden,
                step.row(step.at.residual, t, config_.hidden));
    rope_angles(frequencies_, step.batch.position(t), step.row(step.at.cosines, t, half),
                step.row(step.at.sines, t, half));
  }
}

void CpuForward::attention(const Step& step, std::uint32_t index) const {
  const Layer& layer = layers_[index];
  float* const residual = step.matrix(step.at.residual);
  float* const normed = step.matrix(step.at.normed);
  norm_rows(residual, layer.attention_norm, step.tokens, normed);
  layer.qkv.apply(normed, step.tokens, step.matrix(step.at.qkv));

  // Every entry of the step is there before the first token looks at it.
  const std::uint32_t head_dim = config_.head_dim;
  step.for_each_token([&](std::uint32_t row, std::uint32_t token) {
    float* head = step.row(step.at.qkv, token, config_.qkv_size());
    const float* cosines = step.row(step.at.cosines, token, head_dim / 2);
    const float* sines = step.row(step.at.sines, token, head_dim / 2);
    for (std::uint32_t h = 0; h < config_.heads; ++h, head += head_dim)
      rotate(head, head_dim, cosines, sines);
    float* key =
        step.pool + step.kv.key(step.batch.kv_entry(row, step.batch.position(token)), index);
    for (std::uint32_t h = 0; h < config_.kv_heads; ++h, head += head_dim) {
      rotate(head, head_dim, cosines, sines);
      std::copy_n(head, head_dim, key + h * step.kv.head_floats);
      std::copy_n(head + config_.kv_size(), head_dim,
                  key + h * step.kv.head_floats + step.kv.value_floats);
    }
  });
  step.for_each_token([&](std::uint32_t row, std::uint32_t token) {
    attend(config_, step.kv, step.batch, index, row, step.batch.position(token), step.pool,
           step.row(step.at.qkv, token, config_.qkv_size()),
           step.row(step.at.mixed, token, config_.query_size()));
  });
  layer.attention_out.apply(step.matrix(step.at.mixed), step.tokens, normed);
  add(residual, normed, std::uint64_t{step.tokens} * config_.hidden);
}

void CpuForward::mlp(const Step& step, const Layer& layer) const {
  float* const residual = step.matrix(step.at.residual);
  float* const normed = step.matrix(step.at.normed);
  norm_rows(residual, layer.mlp_norm, step.tokens, normed);
  layer.gate_up.apply(normed, step.tokens, step.matrix(step.at.gate_up));
  const std::uint32_t size = config_.intermediate;
  for (std::uint32_t t = 0; t < step.tokens; ++t) {
    const float* gate = step.row(step.at.gate_up, t, 2 * size);
    swiglu(gate, gate + size, size, step.row(step.at.activated, t, size));
  }
  layer.down.apply(step.matrix(step.at.activated), step.tokens, normed);
  add(residual, normed, std::uint64_t{step.tokens} * config_.hidden);
}

void CpuForward::sample(const Step& step, const HistoryView& history, std::int32_t* next_id) const {
  const std::uint32_t rows = step.batch.rows();
  for (std::uint32_t r = 0; r < rows; ++r) {
    float* last = step.row(step.at.last, r, config_.hidden);
    const std::uint32_t end = step.batch.row_end(r);
    if (end > step.batch.row_start(r)) {
      rms_norm(step.row(step.at.residual, end - 1, config_.hidden), final_norm_.data(),
               config_.hidden, static_cast<float>(config_.rms_eps), last);
    } else {
      std::fill_n(last, config_.hidden, 0.0f);
    }
  }
  head_.apply(step.matrix(step.at.last), rows, step.matrix(step.at.logits));
  const SamplerScratch scratch = {step.matrix(step.at.scores), step.matrix(step.at.weights),
                                  reinterpret_cast<std::uint32_t*>(step.matrix(step.at.ranking))};
  for (std::uint32_t r = 0; r < rows; ++r) {
    next_id[r] = choose(step.row(step.at.logits, r, config_.vocab), config_.vocab,
                        step.batch.sampling(r), {history, r, step.batch.kv_length(r)}, scratch);
  }
}

void CpuForward::norm_rows(const float* x, const std::vector<float>& weight, std::uint32_t rows,
                           float* out) const {
  for (std::uint32_t r = 0; r < rows; ++r, x += config_.hidden, out += config_.hidden)
    rms_norm(x, weight.data(), config_.hidden, static_cast<float>(config_.rms_eps), out);
}

}  // namespace syncopate::models::llama
