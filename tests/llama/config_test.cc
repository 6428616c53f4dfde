#include "backend/models/llama/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backend/models/llama/error.h"

namespace syncopate::models::llama {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// The keys of a Llama 3.2 1B config.json that matter here, in transformers 4's form.
Json llama_1b() {
  return Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "attention_bias": false, "mlp_bias": false, "torch_dtype": "bfloat16",
    "vocab_size": 128256, "hidden_size": 2048, "num_hidden_layers": 16,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
    "intermediate_size": 8192, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0, "tie_word_embeddings": true,
    "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"}})");
}

void expect_refused(const Json& json, const std::string& reason) {
  try {
    parse_config(json.dump(), "config.json");
    ADD_FAILURE() << "accepted: " << json;
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("config.json: "));
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

TEST(LlamaConfig, ReadsEveryValue) {
  const LlamaConfig config = parse_config(llama_1b().dump(), "config.json");
  EXPECT_EQ(config.vocab, 128256u);
  EXPECT_EQ(config.hidden, 2048u);
  EXPECT_EQ(config.layers, 16u);
  EXPECT_EQ(config.heads, 32u);
  EXPECT_EQ(config.kv_heads, 8u);
  EXPECT_EQ(config.head_dim, 64u);
  EXPECT_EQ(config.intermediate, 8192u);
  EXPECT_EQ(config.max_position, 131072u);
  EXPECT_EQ(config.rms_eps, 1e-5);
  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_TRUE(config.tied_embeddings);
  ASSERT_TRUE(config.rope_scaling);
  EXPECT_EQ(config.rope_scaling->factor, 32.0);
  EXPECT_EQ(config.rope_scaling->low_freq_factor, 1.0);
  EXPECT_EQ(config.rope_scaling->high_freq_factor, 4.0);
  EXPECT_EQ(config.rope_scaling->original_max_position, 8192u);
  // As published for the model.
  EXPECT_EQ(config.parameters(), 1'235'814'400u);
}

TEST(LlamaConfig, ReadsTheNewerFormOfRope) {
  Json json = llama_1b();
  json.erase("rope_theta");
  json.erase("rope_scaling");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e6}};
  const LlamaConfig config = parse_config(json.dump(), "config.json");
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_FALSE(config.rope_scaling);
}

TEST(LlamaConfig, FillsInWhatOlderFilesLeaveOut) {
  Json json = llama_1b();
  for (const char* key : {"num_key_value_heads", "rope_theta", "tie_word_embeddings", "hidden_act"})
    json.erase(key);
  json["head_dim"] = nullptr;
  json["rope_scaling"] = nullptr;
  const LlamaConfig config = parse_config(json.dump(), "config.json");
  EXPECT_EQ(config.kv_heads, 32u);
  EXPECT_EQ(config.head_dim, 64u);
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_FALSE(config.rope_scaling);
}

TEST(LlamaConfig, NamesTheKeyThatIsWrong) {
  const auto with = [](const char* key, Json value) {
    Json json = llama_1b();
    json[key] = std::move(value);
    return json;
  };
  expect_refused(with("vocab_size", nullptr), "'vocab_size' is missing");
  expect_refused(with("hidden_size", "2048"), "'hidden_size' is \"2048\"");
  expect_refused(with("hidden_size", -1), "'hidden_size'");
  expect_refused(with("num_hidden_layers", 0), "'num_hidden_layers' is 0");
  expect_refused(with("num_hidden_layers", 1e300), "'num_hidden_layers'");
  expect_refused(with("vocab_size", 5'000'000'000), "'vocab_size'");
  expect_refused(with("num_key_value_heads", 5), "does not divide");
  expect_refused(with("head_dim", 12), "'head_dim' is 12");
  expect_refused(with("rms_norm_eps", -1.0), "'rms_norm_eps'");
  expect_refused(with("rope_theta", 0), "'rope_theta'");
  expect_refused(with("tie_word_embeddings", 1), "'tie_word_embeddings'");
  expect_refused(with("model_type", "mistral"), "'model_type' is 'mistral'");
  expect_refused(with("hidden_act", "gelu"), "'hidden_act' is 'gelu'");
  expect_refused(with("attention_bias", true), "'attention_bias'");
  expect_refused(with("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}),
                 "'rope_scaling.type' is 'linear'");
  expect_refused(with("rope_scaling", {{"rope_type", "llama3"}}),
                 "'rope_scaling.factor' is missing");
  expect_refused(with("rope_scaling", 3), "'rope_scaling' is not an object");
}

TEST(LlamaConfig, RefusesTextThatIsNoObject) {
  EXPECT_THROW(parse_config("{", "config.json"), ConfigError);
  EXPECT_THROW(parse_config("[]", "config.json"), ConfigError);
  EXPECT_THROW(load_config("/nowhere/config.json"), ConfigError);
}

}  // namespace
}  // namespace syncopate::models::llama
