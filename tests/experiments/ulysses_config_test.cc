// The Ulysses program's configuration: what is filled in, and each way to get it wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/yaml/error.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kUlysses =
    "program: ulysses\n"
    "runtime: {kind: cpu}\n"
    "shape: {world: 2, sequence: 31, heads: 56, head_dim: 128}\n"
    "variants:\n"
    "  - strategy: ordinary\n"
    "  - strategy: chunk_overlap\n";

class UlyssesConfigWith : public testing::Test {
 protected:
  UlyssesConfig with(std::vector<std::string> sets) {
    return std::get<UlyssesConfig>(load_config(file_, Overrides{std::move(sets), {}}).config);
  }
  std::string error_with(std::vector<std::string> sets) {
    try {
      with(std::move(sets));
    } catch (const yaml::ConfigError& error) {
      return error.what();
    }
    return "no error";
  }

  Scratch scratch_;
  std::filesystem::path file_ = scratch_.write("a.yaml", kUlysses);
};

TEST_F(UlyssesConfigWith, WhatFollowsFromTheRestIsFilledIn) {
  const UlyssesConfig c = with({});
  EXPECT_EQ(c.shape.kv_heads, 56U);
  ASSERT_EQ(c.variants.size(), 2U);
  EXPECT_EQ(c.variants[0].name, "ordinary");
  EXPECT_FALSE(c.variants[0].schedule);
  EXPECT_FALSE(c.variants[0].slots);
  EXPECT_EQ(c.variants[1].name, "chunk_overlap 7+14+7");
  EXPECT_THAT(*c.variants[1].schedule, ElementsAre(7, 14, 7));
  EXPECT_EQ(c.variants[1].slots, 3U);
  EXPECT_EQ(c.benchmark.warmups, 3U);
  EXPECT_EQ(c.benchmark.iterations, 30U);
  EXPECT_TRUE(c.benchmark.check);
}

TEST_F(UlyssesConfigWith, NamesSayWhatIsUnusual) {
  const UlyssesConfig c = with({"variants.1.schedule=[4, 20, 4]", "variants.1.slots=1",
                                "variants.1.graphs=on", "variants.0.name=baseline"});
  EXPECT_EQ(c.variants[0].name, "baseline");
  EXPECT_EQ(c.variants[1].name, "chunk_overlap 4+20+4 1 slot graphs");
}

TEST_F(UlyssesConfigWith, NamesSayWhatMovesBandsAndWhatIsAllocatedEachTime) {
  const UlyssesConfig c = with(
      {"variants.0.transport=nccl", "variants.1.workspace=per_call", "variants.1.enqueue=in_turn"});
  EXPECT_EQ(c.variants[0].name, "ordinary nccl");
  EXPECT_EQ(c.variants[1].name, "chunk_overlap 7+14+7 in_turn per_call");
}

TEST_F(UlyssesConfigWith, AutoLeavesScheduleAndTransportOpen) {
  const UlyssesConfig c = with({"variants.1.strategy=auto", "search.profile=h200x2"});
  EXPECT_EQ(c.variants[1].name, "auto");
  EXPECT_FALSE(c.variants[1].schedule);
  EXPECT_FALSE(c.variants[1].slots);
  EXPECT_FALSE(c.variants[1].transport);
  EXPECT_EQ(c.variants[0].transport, Transport::kPeer);
}

// Compositions of n into b parts: n - 1 over b - 1.
TEST(Schedules, AreCountedByTheirNumberOfBands) {
  EXPECT_EQ(schedules(28, 1), 1);
  EXPECT_EQ(schedules(28, 3), 1 + 27 + 27 * 26 / 2);
  EXPECT_EQ(schedules(28, 28), 134'217'728);
  EXPECT_EQ(schedules(3, 9), 4);
  EXPECT_EQ(schedules(4096, 4096), 9007199254740992);
}

TEST_F(UlyssesConfigWith, WrittenBackItReadsTheSame) {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {},
           {"shape.tokens=[0, 5]", "shape.sequence=null", "shape.causal=on", "shape.type=fp32"},
           {"variants.1.strategy=auto", "search={profile: h200x2, max_bands: 2}"},
           {"runtime.kind=cuda", "runtime.devices=1", "benchmark.tolerance=0.001"}}) {
    const std::string once = to_yaml(with(sets));
    EXPECT_THAT(once, StartsWith("program: ulysses\n"));
    EXPECT_EQ(to_yaml(load_config(scratch_.write("again.yaml", once)).config), once);
  }
}

TEST_F(UlyssesConfigWith, AnotherRuntimeLeavesTheProfileBehind) {
  const auto file = scratch_.write("sim.yaml",
                                   "program: ulysses\nruntime: {kind: sim, profile: h200}\n"
                                   "shape: {world: 2, sequence: 8, heads: 4, head_dim: 8}\n"
                                   "variants: [{strategy: ordinary}]\n");
  EXPECT_TRUE(load_config(file).profile);
  EXPECT_FALSE(load_config(file, {.sets = {}, .runtime = "cpu"}).profile);
}

TEST_F(UlyssesConfigWith, WhatIsWrongIsNamedWithItsPlace) {
  struct Wrong {
    std::vector<std::string> sets;
    const char* error;
  };
  const Wrong cases[] = {
      {{"shape.sequence=null"}, "needs sequence (tokens in all) or tokens (of each rank)"},
      {{"shape.tokens=[4, 4]"}, "shape: has both sequence and tokens: keep one"},
      {{"shape.sequence=null", "shape.tokens=[4]"},
       "--set shape.tokens: has 1 entries for 2 ranks (shape.world)"},
      {{"shape.sequence=null", "shape.tokens=[0, 0]"}, "shape.tokens: no rank has any"},
      {{"shape.world=3"}, "a.yaml:3:40: shape.heads: 56 cannot be divided among 3 ranks"},
      {{"shape.kv_heads=5"}, "--set shape.kv_heads: 5 does not divide heads"},
      {{"shape.type=fp8"}, "--set shape.type: unknown value 'fp8'"},
      {{"shape.sequnce=4"}, "unknown key 'sequnce' in shape; did you mean 'sequence'?"},
      {{"model={kind: hash}"}, "unknown key 'model' in the file"},
      {{"output.tokens=on"}, "unknown key 'tokens' in output"},
      {{"variants=[]"}, "variants: the list is empty: at least one is needed"},
      {{"variants.1.strategy=chunk"}, "--set variants.1.strategy: unknown value 'chunk'"},
      {{"variants.0.schedule=[28]"}, "--set variants.0.schedule: ordinary takes all heads at once"},
      {{"variants.1.schedule=[7, 14, 8]"},
       "--set variants.1.schedule: 7 + 14 + 8 is 29 heads, and a rank has 28"},
      {{"variants.1.schedule=[28, 0]"}, "variants[1].schedule[1]: 0 is out of range"},
      {{"variants.0.slots=1"}, "--set variants.0.slots: ordinary holds one band at a time"},
      {{"variants.1.slots=4"},
       "--set variants.1.slots: 4 slots for 3 bands: the others stay empty"},
      {{"variants.0.enqueue=in_turn"}, "ordinary enqueues everything in turn"},
      {{"runtime.kind=cuda", "runtime.devices=1", "variants.0.transport=nccl"},
       "nccl takes no two ranks on one GPU"},
      {{"variants.1.transport=mail"}, "--set variants.1.transport: unknown value 'mail'"},
      {{"variants.1.graphs=on", "variants.1.workspace=per_call"},
       "--set variants.1.workspace: a graph keeps the addresses"},
      {{"variants.1.name=a,b"}, "--set variants.1.name: has a comma"},
      {{"variants.1.name=''"}, "--set variants.1.name: is empty"},
      {{"variants.1.strategy=ordinary"}, "variants[1]: 'ordinary' is variants[0] already"},
      {{"variants.1.name=ordinary"}, "--set variants.1.name: 'ordinary' is variants[0] already"},
      {{"variants.1.strategy=auto"},
       "search.profile: is missing: strategy auto chooses by the virtual time of a profile"},
      {{"search.profile=h200x2"}, "--set search.profile: no variant is auto"},
      {{"variants.1.strategy=auto", "search.profile=h200x3"}, "h200x3"},
      {{"variants.1.strategy=auto", "search.profile=post"},
       "--set search.profile: profile 'post' does not say how long attention "
       "takes"},
      {{"variants.1.strategy=auto", "search={profile: h200x2, max_bands: 5}"},
       "search.max_bands: 28 heads have 20854 schedules of at most 5 bands"},
      {{"variants.1.strategy=auto", "search={profile: h200x2, max_bands: 0}"},
       "search.max_bands: 0 is out of range"},
      {{"variants.1.strategy=auto", "search.profile=h200x2", "variants.1.schedule=[28]"},
       "--set variants.1.schedule: auto finds one"},
      {{"variants.1.strategy=auto", "search.profile=h200x2", "variants.1.slots=2"},
       "--set variants.1.slots: auto has one for each band"},
      {{"variants.1.strategy=auto", "search.profile=h200x2", "variants.1.enqueue=in_turn"},
       "--set variants.1.enqueue: auto compares passes that enqueue ahead"},
      {{"benchmark.iterations=0"}, "benchmark.iterations: 0 is out of range"},
      {{"runtime.devices=1"}, "runtime.devices: is for cuda only, not cpu"},
      {{"runtime.kind=cuda", "runtime.devices=3"},
       "runtime.devices: 3 devices for 2 ranks (shape.world) leave some idle"},
      {{"runtime.effects=off"}, "runtime.effects: off is for sim only"},
      {{"output={log: off, trace: on}"}, "output.trace: a trace is made from the log"},
  };
  for (const Wrong& c : cases) EXPECT_THAT(error_with(c.sets), HasSubstr(c.error));
}

TEST(DefaultSchedule, IsAQuarterTheRestAndAQuarter) {
  EXPECT_THAT(default_schedule(28), ElementsAre(7, 14, 7));
  EXPECT_THAT(default_schedule(14), ElementsAre(3, 8, 3));
  EXPECT_THAT(default_schedule(4), ElementsAre(1, 2, 1));
  EXPECT_THAT(default_schedule(3), ElementsAre(1, 1, 1));
  EXPECT_THAT(default_schedule(1), ElementsAre(1));
}

}  // namespace
}  // namespace syncopate::experiments
