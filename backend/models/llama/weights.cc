#include "backend/models/llama/weights.h"

#include <cmath>
#include <string>

#include "backend/models/llama/checkpoint.h"

namespace syncopate::models::llama {
namespace {

/// Finalizer of SplitMix64 (Steele, Lea, Flood 2014), used as a hash of a counter.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class RandomMatrices {
 public:
  explicit RandomMatrices(std::uint64_t seed) : seed_(seed) {}

  Matrix next(std::uint32_t out, std::uint32_t in, double variance) {
    Matrix matrix(out, in);
    const std::uint64_t stream = mix(seed_ ^ mix(++tensor_));
    // 24 bits, centred: an integer that fp32 holds exactly, scaled by one rounded product.
    const float scale = static_cast<float>(std::sqrt(3.0 * variance) / (1 << 23));
    for (std::size_t i = 0; i < matrix.values.size(); ++i) {
      const auto bits = static_cast<std::int32_t>(mix(stream + i) >> 40) - (1 << 23);
      matrix.values[i] = static_cast<float>(bits) * scale;
    }
    return matrix;
  }
  Matrix next(std::uint32_t out, std::uint32_t in) { return next(out, in, 1.0 / in); }

 private:
  std::uint64_t seed_;
  std::uint64_t tensor_ = 0;
};

/// Reads tensors by the names that Hugging Face's Llama gives them.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& folder) : checkpoint_(folder) {}

  std::vector<float> vector(const std::string& name, std::uint32_t size) const {
    std::vector<float> values(size);
    checkpoint_.read(name, {size}, values.data());
    return values;
  }
  Matrix matrix(const std::string& name, std::uint32_t out, std::uint32_t in) const {
    Matrix result(out, in);
    rows(name, out, result, 0);
    return result;
  }
  /// Reads [out, into.in] into `into` from row `first` on.
  void rows(const std::string& name, std::uint32_t out, Matrix& into, std::uint32_t first) const {
    checkpoint_.read(name, {out, into.in}, into.row(first));
  }

 private:
  Checkpoint checkpoint_;
};

}  // namespace

Weights random_weights(const LlamaConfig& config, std::uint64_t seed) {
  RandomMatrices random(seed);
  const std::vector<float> ones(config.hidden, 1.0f);
  Weights weights;
  weights.embedding = random.next(config.vocab, config.hidden, 1.0);
  weights.layers.resize(config.layers);
  for (LayerWeights& layer : weights.layers) {
    layer.attention_norm = ones;
    layer.qkv = random.next(config.qkv_size(), config.hidden);
    layer.attention_out = random.next(config.hidden, config.query_size());
    layer.mlp_norm = ones;
    layer.gate_up = random.next(2 * config.intermediate, config.hidden);
    layer.down = random.next(config.hidden, config.intermediate);
  }
  weights.final_norm = ones;
  if (!config.tied_embeddings) weights.head = random.next(config.vocab, config.hidden);
  return weights;
}

Weights load_weights(const LlamaConfig& config, const std::filesystem::path& folder) {
  const CheckpointReader reader(folder);
  Weights weights;
  weights.embedding = reader.matrix("model.embed_tokens.weight", config.vocab, config.hidden);
  weights.layers.resize(config.layers);
  for (std::uint32_t l = 0; l < config.layers; ++l) {
    const std::string prefix = "model.layers." + std::to_string(l) + ".";
    LayerWeights& layer = weights.layers[l];
    layer.attention_norm = reader.vector(prefix + "input_layernorm.weight", config.hidden);
    layer.qkv = Matrix(config.qkv_size(), config.hidden);
    const std::string attention = prefix + "self_attn.";
    const std::uint32_t keys = config.query_size(), values = keys + config.kv_size();
    reader.rows(attention + "q_proj.weight", config.query_size(), layer.qkv, 0);
    reader.rows(attention + "k_proj.weight", config.kv_size(), layer.qkv, keys);
    reader.rows(attention + "v_proj.weight", config.kv_size(), layer.qkv, values);
    layer.attention_out =
        reader.matrix(attention + "o_proj.weight", config.hidden, config.query_size());
    layer.mlp_norm = reader.vector(prefix + "post_attention_layernorm.weight", config.hidden);
    layer.gate_up = Matrix(2 * config.intermediate, config.hidden);
    reader.rows(prefix + "mlp.gate_proj.weight", config.intermediate, layer.gate_up, 0);
    reader.rows(prefix + "mlp.up_proj.weight", config.intermediate, layer.gate_up,
                config.intermediate);
    layer.down = reader.matrix(prefix + "mlp.down_proj.weight", config.hidden, config.intermediate);
  }
  weights.final_norm = reader.vector("model.norm.weight", config.hidden);
  if (!config.tied_embeddings)
    weights.head = reader.matrix("lm_head.weight", config.vocab, config.hidden);
  return weights;
}

}  // namespace syncopate::models::llama
