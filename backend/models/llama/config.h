// The shape and constants of a Llama-family transformer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace syncopate::models::llama {

/// Llama 3's stretching of RoPE to contexts longer than it was trained on: low frequencies are
/// divided by `factor`, high ones kept, those between blended. See rope.h for the formula.
struct RopeScaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::uint32_t original_max_position = 8192;
};

/// Plain data. validate() says what must hold.
struct LlamaConfig {
  static constexpr std::uint32_t kHeadDimStep = 8;  ///< head_dim is a multiple: whole vectors.

  std::uint32_t vocab = 512;
  std::uint32_t hidden = 256;
  std::uint32_t layers = 4;
  std::uint32_t heads = 8;
  std::uint32_t kv_heads = 4;  ///< Divides `heads`: query heads h*heads/kv_heads.. share head h.
  std::uint32_t head_dim = 32;
  std::uint32_t intermediate = 704;
  std::uint32_t max_position = 2048;
  double rms_eps = 1e-5;
  double rope_theta = 10000.0;
  std::optional<RopeScaling> rope_scaling;
  bool tied_embeddings = false;  ///< The output projection is the embedding table.

  std::uint32_t query_size() const { return heads * head_dim; }
  std::uint32_t kv_size() const { return kv_heads * head_dim; }
  std::uint32_t qkv_size() const { return query_size() + 2 * kv_size(); }
  std::uint64_t parameters() const;
};

/// Throws ConfigError, naming `source` and the key, unless every size is positive and in range,
/// kv_heads divides heads, and head_dim is a multiple of kHeadDimStep.
void validate(const LlamaConfig& config, const std::string& source);

/// Reads a Hugging Face config.json, in the form of transformers 4 (rope_theta, rope_scaling) or 5
/// (rope_parameters). Unknown keys are ignored, as there; a key that asks for something that is not
/// computed here (biases, another activation or RoPE type, another model_type) is a ConfigError.
/// `source` names the text in errors. The result is valid.
LlamaConfig parse_config(std::string_view json, const std::string& source);
LlamaConfig load_config(const std::filesystem::path& file);

}  // namespace syncopate::models::llama
