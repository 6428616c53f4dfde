#include "backend/models/llama/config.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "backend/models/llama/error.h"

namespace syncopate::models::llama {
namespace {

using Json = nlohmann::json;

/// One object of the JSON text; its path (as "rope_scaling.") goes before keys in errors.
class Section {
 public:
  Section(const Json& object, std::string source, std::string path = "")
      : object_(object), source_(std::move(source)), path_(std::move(path)) {
    if (!object.is_object()) fail("", "is not an object");
  }

  /// Absent and null are the same: config.json files have both.
  bool has(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() && !found->is_null();
  }
  Section section(const char* key) const { return {object_.at(key), source_, path_ + key + "."}; }

  std::uint32_t size(const char* key) const {
    const Json& value = required(key);
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
      fail(key, "is " + value.dump() + ", not a 32-bit whole number");
    return value.get<std::uint32_t>();
  }
  std::uint32_t size(const char* key, std::uint32_t otherwise) const {
    return has(key) ? size(key) : otherwise;
  }
  double number(const char* key) const {
    const Json& value = required(key);
    if (!value.is_number()) fail(key, "is " + value.dump() + ", not a number");
    return value.get<double>();
  }
  double number(const char* key, double otherwise) const {
    return has(key) ? number(key) : otherwise;
  }
  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const Json& value = object_.at(key);
    if (!value.is_boolean()) fail(key, "is " + value.dump() + ", not true or false");
    return value.get<bool>();
  }
  std::string text(const char* key, const char* otherwise) const {
    if (!has(key)) return otherwise;
    const Json& value = object_.at(key);
    if (!value.is_string()) fail(key, "is " + value.dump() + ", not a string");
    return value.get<std::string>();
  }

  [[noreturn]] void fail(const std::string& key, const std::string& reason) const {
    const std::string name =
        key.empty() ? path_.substr(0, path_.empty() ? 0 : path_.size() - 1) : path_ + key;
    throw ConfigError(source_ + ": " + (name.empty() ? "the text" : "'" + name + "'") + " " +
                      reason);
  }

 private:
  const Json& required(const char* key) const {
    if (!has(key)) fail(key, "is missing");
    return object_.at(key);
  }

  const Json& object_;
  std::string source_, path_;
};

void read_rope(const Section& root, LlamaConfig& config) {
  config.rope_theta = root.number("rope_theta", config.rope_theta);
  const char* key = root.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!root.has(key)) return;
  const Section rope = root.section(key);
  config.rope_theta = rope.number("rope_theta", config.rope_theta);
  const char* type_key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string type = rope.text(type_key, "default");
  if (type == "default") return;
  if (type != "llama3") rope.fail(type_key, "is '" + type + "'; 'default' and 'llama3' are known");
  RopeScaling& scaling = config.rope_scaling.emplace();
  scaling.factor = rope.number("factor");
  scaling.low_freq_factor = rope.number("low_freq_factor");
  scaling.high_freq_factor = rope.number("high_freq_factor");
  scaling.original_max_position = rope.size("original_max_position_embeddings");
}

}  // namespace

std::uint64_t LlamaConfig::parameters() const {
  const std::uint64_t h = hidden;
  const std::uint64_t layer = h * qkv_size() + query_size() * h + 3 * h * intermediate + 2 * h;
  return layers * layer + h + (tied_embeddings ? 1 : 2) * vocab * h;
}

void validate(const LlamaConfig& config, const std::string& source) {
  const auto fail = [&](const std::string& what) { throw ConfigError(source + ": " + what); };
  // 2^24 keeps every product of two sizes far inside 64 bits, and is larger than any model's.
  constexpr std::uint32_t kMaxSize = 1u << 24;
  const auto check_size = [&](const char* key, std::uint32_t value) {
    if (value == 0 || value > kMaxSize)
      fail("'" + std::string(key) + "' is " + std::to_string(value) + ", not in 1.." +
           std::to_string(kMaxSize));
  };
  check_size("vocab_size", config.vocab);
  check_size("hidden_size", config.hidden);
  check_size("num_hidden_layers", config.layers);
  check_size("num_attention_heads", config.heads);
  check_size("num_key_value_heads", config.kv_heads);
  check_size("intermediate_size", config.intermediate);
  check_size("max_position_embeddings", config.max_position);
  if (config.heads % config.kv_heads != 0)
    fail("'num_key_value_heads' (" + std::to_string(config.kv_heads) +
         ") does not divide 'num_attention_heads' (" + std::to_string(config.heads) + ")");
  check_size("head_dim", config.head_dim);
  if (config.head_dim % LlamaConfig::kHeadDimStep != 0)
    fail("'head_dim' is " + std::to_string(config.head_dim) + ", not a multiple of " +
         std::to_string(LlamaConfig::kHeadDimStep));
  if (!(config.rms_eps >= 0.0) || !std::isfinite(config.rms_eps))
    fail("'rms_norm_eps' is negative or not finite");
  if (!(config.rope_theta > 0.0) || !std::isfinite(config.rope_theta))
    fail("'rope_theta' is not positive");
  if (config.rope_scaling) {
    const RopeScaling& s = *config.rope_scaling;
    if (!(s.factor >= 1.0)) fail("the RoPE scaling's 'factor' is below 1");
    if (!(s.low_freq_factor > 0.0) || !(s.high_freq_factor > s.low_freq_factor))
      fail("the RoPE scaling needs 0 < 'low_freq_factor' < 'high_freq_factor'");
    check_size("original_max_position_embeddings", s.original_max_position);
  }
}

LlamaConfig parse_config(std::string_view json, const std::string& source) {
  Json parsed;
  try {
    parsed = Json::parse(json);
  } catch (const Json::exception& error) {  // not only parse_error: 1e999 is out of range
    throw ConfigError(source + ": " + error.what());
  }
  const Section root(parsed, source);
  const std::string type = root.text("model_type", "llama");
  if (type != "llama") root.fail("model_type", "is '" + type + "', not 'llama'");
  const std::string activation = root.text("hidden_act", "silu");
  if (activation != "silu") root.fail("hidden_act", "is '" + activation + "', not 'silu'");
  for (const char* key : {"attention_bias", "mlp_bias"})
    if (root.flag(key, false)) root.fail(key, "is true; biases are not computed");

  LlamaConfig config;
  config.vocab = root.size("vocab_size");
  config.hidden = root.size("hidden_size");
  config.layers = root.size("num_hidden_layers");
  config.heads = root.size("num_attention_heads");
  config.kv_heads = root.size("num_key_value_heads", config.heads);
  if (root.has("head_dim")) {
    config.head_dim = root.size("head_dim");
  } else {
    if (config.heads == 0 || config.hidden % config.heads != 0)
      root.fail("num_attention_heads", "does not divide 'hidden_size', and 'head_dim' is missing");
    config.head_dim = config.hidden / config.heads;
  }
  config.intermediate = root.size("intermediate_size");
  config.max_position = root.size("max_position_embeddings");
  config.rms_eps = root.number("rms_norm_eps");
  read_rope(root, config);
  config.tied_embeddings = root.flag("tie_word_embeddings", false);
  validate(config, source);
  return config;
}

LlamaConfig load_config(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw ConfigError(file.string() + ": cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return parse_config(text, file.string());
}

}  // namespace syncopate::models::llama
