#include "tests/llama_cuda/reference.h"

#include <ATen/ATen.h>

#include <cmath>

#include "backend/models/llama/rope.h"

namespace syncopate::models::llama {
namespace {

class Reference {
 public:
  Reference(const LlamaConfig& config, Precision precision)
      : config_(config), type_(precision == Precision::kFp32 ? at::kFloat : at::kBFloat16) {}

  at::Tensor run(const Weights& weights, const std::vector<std::int32_t>& ids) const {
    const auto count = static_cast<std::int64_t>(ids.size());
    const at::Tensor index = at::tensor(ids, at::kInt).to(at::kCUDA);
    const at::Tensor table = matrix(weights.embedding);
    at::Tensor x = table.index_select(0, index);
    const auto [cosines, sines] = angles(count);
    for (const LayerWeights& layer : weights.layers) {
      const at::Tensor qkv = at::linear(norm(x, layer.attention_norm), matrix(layer.qkv));
      const auto parts =
          qkv.split_with_sizes({config_.query_size(), config_.kv_size(), config_.kv_size()}, 1);
      const at::Tensor q = rotate(heads(parts[0], config_.heads), cosines, sines);
      const std::int64_t group = config_.heads / config_.kv_heads;
      const at::Tensor k = rotate(heads(parts[1], config_.kv_heads), cosines, sines);
      const at::Tensor v = heads(parts[2], config_.kv_heads);
      const at::Tensor mixed = at::scaled_dot_product_attention(
          q.unsqueeze(0), k.repeat_interleave(group, 0).unsqueeze(0),
          v.repeat_interleave(group, 0).unsqueeze(0), {}, 0.0, true);
      x = x + at::linear(mixed[0].transpose(0, 1).reshape({count, config_.query_size()}),
                         matrix(layer.attention_out));
      const at::Tensor gate_up = at::linear(norm(x, layer.mlp_norm), matrix(layer.gate_up));
      const auto halves = gate_up.chunk(2, 1);
      x = x + at::linear(at::silu(halves[0]) * halves[1], matrix(layer.down));
    }
    const at::Tensor head = config_.tied_embeddings ? table : matrix(weights.head);
    return at::linear(norm(x, weights.final_norm), head).to(at::kFloat).cpu().contiguous();
  }

 private:
  at::Tensor on_device(const float* values, at::IntArrayRef sizes) const {
    return at::from_blob(const_cast<float*>(values), sizes, at::kFloat)
        .to(at::kCUDA)
        .to(at::kBFloat16)
        .to(type_);
  }
  at::Tensor matrix(const Matrix& m) const { return on_device(m.values.data(), {m.out, m.in}); }

  at::Tensor norm(const at::Tensor& x, const std::vector<float>& weight) const {
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor scale = (wide.square().mean(-1, true) + config_.rms_eps).rsqrt();
    return (wide * scale * on_device(weight.data(), {config_.hidden}).to(at::kFloat)).to(type_);
  }

  at::Tensor heads(const at::Tensor& x, std::int64_t count) const {
    return x.view({x.size(0), count, config_.head_dim}).transpose(0, 1);
  }

  std::pair<at::Tensor, at::Tensor> angles(std::int64_t count) const {
    const std::vector<float> frequencies = rope_frequencies(config_);
    const std::int64_t half = config_.head_dim / 2;
    std::vector<float> cosines(static_cast<std::size_t>(count * half)), sines(cosines.size());
    for (std::int64_t p = 0; p < count; ++p) {
      rope_angles(frequencies, static_cast<std::uint32_t>(p), cosines.data() + p * half,
                  sines.data() + p * half);
    }
    const auto tensor = [&](std::vector<float>& values) {
      return at::from_blob(values.data(), {count, half}, at::kFloat).to(at::kCUDA).clone();
    };
    return {tensor(cosines), tensor(sines)};
  }

  at::Tensor rotate(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines) const {
    const auto halves = x.to(at::kFloat).chunk(2, -1);
    return at::cat(
               {halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines},
               -1)
        .to(type_);
  }

  LlamaConfig config_;
  at::ScalarType type_;
};

}  // namespace

std::vector<std::vector<float>> reference_logits(const LlamaConfig& config, const Weights& weights,
                                                 const std::vector<std::int32_t>& ids,
                                                 Precision precision) {
  const at::Tensor logits = Reference(config, precision).run(weights, ids);
  std::vector<std::vector<float>> rows;
  for (std::int64_t r = 0; r < logits.size(0); ++r) {
    const float* row = logits.data_ptr<float>() + r * logits.size(1);
    rows.emplace_back(row, row + logits.size(1));
  }
  return rows;
}

}  // namespace syncopate::models::llama
