// The `model` section: which model decodes, and its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "backend/models/llama/config.h"
#include "experiments/yaml/describe.h"

namespace syncopate::experiments {

struct HashModelConfig {
  static constexpr std::string_view kKind = "hash";
  static constexpr std::string_view kDoc =
      "each next token hashes every token before it: exact on every runtime";

  std::uint32_t vocab = 256;
  std::uint32_t seed = 1;
  std::uint32_t max_positions = 65536;
};

template <class V>
void describe(V& v, HashModelConfig& c) {
  using yaml::key;
  v(key("vocab", "Token ids are 0 to vocab - 1").range(2, 1 << 24), c.vocab);
  v(key("seed", "Start of every request's hash"), c.seed);
  v(key("max_positions", "Longest prompt plus new tokens").range(1, 1 << 24), c.max_positions);
}

struct LlamaModelConfig {
  static constexpr std::string_view kKind = "llama";
  static constexpr std::string_view kDoc =
      "a Llama-family transformer, random or from a checkpoint: libtorch (cpu, sim) or CUDA";

  std::optional<models::llama::LlamaConfig> shape;
  std::uint64_t seed = 0;
  std::optional<std::string> checkpoint;
  bool invariant = true;
};

template <class V>
void describe(V& v, LlamaModelConfig& c) {
  using yaml::key;
  v(key("shape", "Sizes of a model with random weights; this or checkpoint"), c.shape);
  v(key("seed", "Of the random weights"), c.seed);
  v(key("checkpoint", "Folder with config.json and safetensors; this or shape"), c.checkpoint);
  v(key("invariant",
        "Tokens do not depend on which rows share a batch; off: faster on long prompts"),
    c.invariant);
}

using ModelConfig = std::variant<HashModelConfig, LlamaModelConfig>;

}  // namespace syncopate::experiments

// Found by their arguments' namespace.
namespace syncopate::models::llama {

template <class V>
void describe(V& v, RopeScaling& c) {
  using experiments::yaml::key, experiments::yaml::required;
  v(required("factor", "How much longer the context gets").at_least(1), c.factor);
  v(key("low_freq_factor", "Longest wave left as it is, in contexts").at_least(0),
    c.low_freq_factor);
  v(key("high_freq_factor", "Shortest wave stretched in full").at_least(0), c.high_freq_factor);
  v(required("original_max_position", "Context it was trained with").range(1, 1 << 24),
    c.original_max_position);
}

template <class V>
void describe(V& v, LlamaConfig& c) {
  using experiments::yaml::key, experiments::yaml::required;
  v(required("vocab", "Rows of the embedding").range(2, 1 << 24), c.vocab);
  v(required("hidden", "Width of a token's vector").range(1, 1 << 16), c.hidden);
  v(required("layers", "Transformer blocks").range(1, 1024), c.layers);
  v(required("heads", "Query heads").range(1, 1024), c.heads);
  v(required("kv_heads", "Key and value heads; divides heads").range(1, 1024), c.kv_heads);
  v(required("head_dim", "Width of a head; a multiple of 8").range(8, 1024), c.head_dim);
  v(required("intermediate", "Width of the gated MLP").range(1, 1 << 18), c.intermediate);
  v(key("max_positions", "Longest prompt plus new tokens").range(1, 1 << 24), c.max_position);
  v(key("rope_theta", "Base of the rotary embedding").at_least(1), c.rope_theta);
  v(key("rope_scaling", "Llama 3's stretching to longer contexts; null: none"), c.rope_scaling);
  v(key("rms_eps", "Epsilon of the RMS norms").range(0, 1), c.rms_eps);
  v(key("tied", "The output projection is the embedding table"), c.tied_embeddings);
}

}  // namespace syncopate::models::llama
