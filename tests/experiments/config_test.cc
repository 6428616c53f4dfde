// What a configuration means: defaults, overrides, profiles, and the text it is written back as.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/config/sweep_points.h"
#include "experiments/yaml/error.h"
#include "experiments/yaml/nearest.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kConfig =
    "program: batching\n"
    "runtime: {kind: sim, profile: h200}\n"
    "model: {kind: hash}\n"
    "strategy: {kind: async}\n"
    "requests: {count: 4, prompt_tokens: 8, max_new_tokens: {min: 4, max: 16}}\n"
    "limits: {rows: 4, tokens: 32, pages: 16}\n";

class ConfigWith : public testing::Test {
 protected:
  BatchingConfig with(std::vector<std::string> sets) {
    return std::get<BatchingConfig>(load_config(file_, Overrides{std::move(sets), {}}).config);
  }
  std::string error_with(std::string set) {
    try {
      with({std::move(set)});
    } catch (const yaml::ConfigError& error) {
      return error.what();
    }
    return "no error";
  }

  Scratch scratch_;
  std::filesystem::path file_ = scratch_.write("a.yaml", kConfig);
};

TEST_F(ConfigWith, AsyncTakesTwoSlotsUnlessTold) {
  EXPECT_EQ(with({}).strategy.slots, 2U);
  EXPECT_EQ(with({"strategy.slots=3"}).strategy.slots, 3U);
  EXPECT_EQ(with({"strategy.kind=ordered"}).strategy.slots, 1U);
}

TEST_F(ConfigWith, ALoneLengthIsBothEndsOfTheRange) {
  const auto requests = std::get<GeneratedRequests>(with({}).requests);
  EXPECT_EQ(requests.prompt_tokens->min, 8U);
  EXPECT_EQ(requests.prompt_tokens->max, 8U);
  EXPECT_EQ(requests.max_new_tokens->min, 4U);
  EXPECT_EQ(requests.max_new_tokens->max, 16U);
}

TEST_F(ConfigWith, OverridesReplaceAndAddValues) {
  const BatchingConfig c = with({"model.vocab=99", "host.extra_us=2.5", "output={log: off}",
                                 "requests.max_new_tokens.max=20", "requests.eos=5"});
  EXPECT_EQ(std::get<HashModelConfig>(c.model).vocab, 99U);
  EXPECT_EQ(c.host.extra_us, 2.5);
  EXPECT_FALSE(c.output.log);
  EXPECT_EQ(std::get<GeneratedRequests>(c.requests).max_new_tokens->max, 20U);
  EXPECT_EQ(std::get<GeneratedRequests>(c.requests).eos, 5U);
}

TEST_F(ConfigWith, AWindowIsAPairOfSteps) {
  const BatchingConfig c = with({"output.trace=on", "output.window=[3, 8]"});
  EXPECT_EQ(c.output.window, (std::array<std::uint32_t, 2>{3, 8}));
  EXPECT_THAT(to_yaml(c), HasSubstr("window: [3, 8]"));
  EXPECT_FALSE(with({}).output.window);
}

TEST_F(ConfigWith, TheLastOverrideOfAValueHolds) {
  EXPECT_EQ(with({"limits.rows=2", "limits.rows=3"}).limits.rows, 3U);
}

TEST_F(ConfigWith, OverridesReachIntoLists) {
  const BatchingConfig c =
      with({"requests=[{prompt: [1, 2], max_new_tokens: 3}]", "requests.0.max_new_tokens=7"});
  EXPECT_EQ(std::get<std::vector<RequestConfig>>(c.requests).at(0).max_new_tokens, 7U);
  EXPECT_THAT(error_with("requests.prompt_tokens.7.x=1"),
              StartsWith("--set requests.prompt_tokens.7.x: "));
}

TEST_F(ConfigWith, AWrongOverrideIsNamedAsItWasTyped) {
  EXPECT_THAT(error_with("strategy.slots=0"),
              StartsWith("--set strategy.slots: 0 is out of range"));
  EXPECT_THAT(error_with("strategy.slot=2"),
              StartsWith("--set strategy.slot: unknown key 'slot' in strategy; did you mean"));
  EXPECT_THAT(error_with("strategy.kind=unordered"), StartsWith("--set strategy.kind: "));
  EXPECT_THAT(error_with("limits.pages=1"), HasSubstr("never fit the KV pool"));
  EXPECT_THAT(error_with("requests=[{prompt: [1, 2], max_new_tokens: 20000000}]"),
              StartsWith("--set requests: requests[0].max_new_tokens: 20000000 is out of range"));
  for (const char* malformed : {"strategy.slots", "=3", ".a=3", "a.=3", "a..b=3", ""}) {
    EXPECT_THAT(error_with(malformed), HasSubstr("expected PATH=VALUE")) << malformed;
  }
  EXPECT_THAT(error_with("strategy.slots=[1"), HasSubstr("is a bracket left open?"));
}

TEST_F(ConfigWith, AnotherRuntimeLeavesTheProfileBehind) {
  const ResolvedConfig c = load_config(file_, {.sets = {}, .runtime = "cpu"});
  EXPECT_EQ(runtime_of(c.config).kind, RuntimeKind::kCpu);
  EXPECT_FALSE(runtime_of(c.config).profile);
  EXPECT_FALSE(c.profile);
}

TEST_F(ConfigWith, ValuesRememberWhereTheyCameFrom) {
  const ResolvedConfig c = load_config(file_, {.sets = {"limits.rows=2"}, .runtime = {}});
  EXPECT_THAT(c.origins.find("limits.rows").text(), "--set limits.rows");
  EXPECT_THAT(c.origins.find("limits.pages").text(), testing::EndsWith("a.yaml:6:38"));
  EXPECT_FALSE(c.origins.written("strategy.graphs"));
}

TEST_F(ConfigWith, TheKeysThatAShorthandStandsForComeFromItsPlace) {
  const ResolvedConfig c = load_config(file_);
  EXPECT_THAT(c.origins.find("requests.prompt_tokens.min").text(),
              testing::EndsWith("a.yaml:5:37"));
  EXPECT_TRUE(c.origins.written("requests.prompt_tokens.max"));
}

TEST_F(ConfigWith, EachValueSaysWhereItComesFromAndTheTextReadsTheSame) {
  const ResolvedConfig c = load_config(
      file_, {.sets = {"limits.rows=2", "requests=[{prompt: [1, 2], max_new_tokens: 3}]"},
              .runtime = "cpu"});
  const std::string text = to_yaml_with_origins(c);
  EXPECT_THAT(text, HasSubstr("  kind: cpu                # --runtime runtime.kind\n"));
  EXPECT_THAT(text, HasSubstr("  rows: 2                  # --set limits.rows\n"));
  EXPECT_THAT(text, HasSubstr("  slots: 2                 # default\n"));
  EXPECT_THAT(text, HasSubstr("cancel_tokens: 0}  # --set requests\n"));
  EXPECT_THAT(text, HasSubstr("  tokens: 32               # " + file_.string() + ":6:"));
  EXPECT_EQ(to_yaml(load_config(scratch_.write("again.yaml", text)).config), to_yaml(c.config));
}

TEST_F(ConfigWith, WrittenBackItReadsTheSame) {
  const std::vector<std::vector<std::string>> variants{
      {},
      {"requests=[{prompt: [1, 2], max_new_tokens: 3, eos: 9}, {prompt_tokens: 4, "
       "max_new_tokens: 1}]"},
      {"model={kind: llama, shape: {vocab: 64, hidden: 8, layers: 1, heads: 2, kv_heads: 1, "
       "head_dim: 8, intermediate: 16, rope_scaling: {factor: 8, original_max_position: 64}}}"},
      {"model={kind: llama, checkpoint: \"a: b # c\"}", "host.extra_us=0.1"},
  };
  for (const auto& sets : variants) {
    const std::string once = to_yaml(with(sets));
    const auto again = scratch_.write("again.yaml", once);
    EXPECT_EQ(to_yaml(load_config(again).config), once);
  }
}

TEST(Profile, WrittenBackItReadsTheSame) {
  const Scratch scratch;
  for (const char* name : {"post", "post_sync_terms", "h200", "demo_cpu"}) {
    const ProfileFile profile = load_profile(std::filesystem::path(SYNCOPATE_SOURCE_DIR) /
                                             "configs/hardware" / (std::string(name) + ".yaml"));
    EXPECT_EQ(profile.profile.name, name);
    const std::string once = to_yaml(profile);
    EXPECT_EQ(to_yaml(load_profile(scratch.write("again.yaml", once))), once) << name;
  }
}

TEST(Profile, IsFoundByPathBesideTheConfigAndByNameUpwards) {
  const Scratch scratch;
  const std::string text = read_text(SYNCOPATE_SOURCE_DIR "/configs/hardware/h200.yaml");
  const auto near = scratch.write("configs/hardware/h200.yaml", text);
  const auto config = scratch.write("configs/mine/a.yaml", kConfig);
  EXPECT_EQ(find_profile("h200", config, {}), near);
  EXPECT_TRUE(std::filesystem::equivalent(find_profile("../hardware/h200.yaml", config, {}), near));
  EXPECT_EQ(find_profile("post", config, {}),
            std::filesystem::path(SYNCOPATE_SOURCE_DIR) / "configs/hardware/post.yaml");
}

TEST(ShippedConfigs, AllLoad) {
  int loaded = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SYNCOPATE_SOURCE_DIR "/configs")) {
    const auto& path = entry.path();
    if (path.extension() != ".yaml" || path.parent_path().filename() == "hardware") continue;
    if (path.parent_path().filename() == "sweeps") {
      EXPECT_NO_THROW(plan_sweep(path)) << path;
    } else {
      EXPECT_NO_THROW(load_config(path)) << path;
    }
    ++loaded;
  }
  EXPECT_GE(loaded, 7);
}

TEST(EditDistance, CountsASwapOfNeighboursAsOne) {
  EXPECT_EQ(yaml::edit_distance("slots", "slots"), 0U);
  EXPECT_EQ(yaml::edit_distance("slots", "solts"), 1U);
  EXPECT_EQ(yaml::edit_distance("", "abc"), 3U);
  EXPECT_EQ(yaml::edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(yaml::nearest("sed", {"count", "seed", "eos"}), "seed");
  EXPECT_EQ(yaml::nearest("colour", {"count", "seed", "eos"}), std::nullopt);
}

}  // namespace
}  // namespace syncopate::experiments
