// Runs of the Ulysses program: figures against numbers worked out by hand, its files, and what is
// kept of a run that an error ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backend/ulysses/host_attention.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "experiments/run/ulysses_figures.h"
#include "experiments/run/ulysses_metrics.h"
#include "tests/experiments/scratch.h"
#include "tests/ulysses/faulty_attention.h"

namespace syncopate::experiments {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;
using ::testing::DoubleNear;
using ::testing::HasSubstr;

/// 100 us for each head's attention over 10 tokens; for each head of 5 tokens that crosses a link
/// 30 us of Q, K and V, and 10 us of output. Calls cost nothing.
constexpr const char* kLinksAndAttention = R"(
about: a link and attention
host: {kernel_launch_us: 0, graph_launch_us: 0, copy_us: 0, record_us: 0, wait_us: 0}
kernels: {forward: {}, carry: {}, attention: {per_attention_kpair_us: 1000}}
spans: {prepare: {}, update: {}}
h2d: {latency_us: 0, gb_per_s: 1e6}
d2h: {latency_us: 0, gb_per_s: 1e6}
d2d: {latency_us: 0, gb_per_s: 1e6}
peer: {latency_us: 0, gb_per_s: 8e-3}
)";

constexpr const char* kFiveVariants = R"(
program: ulysses
runtime: {kind: sim, profile: ./profile.yaml}
shape: {world: 2, sequence: 10, heads: 8, head_dim: 4, type: fp32}
variants:
  - strategy: ordinary
  - strategy: whole_fused
  - {strategy: chunk_sequential, schedule: [1, 2, 1]}
  - {strategy: chunk_overlap, schedule: [1, 2, 1]}
  - {strategy: chunk_overlap, schedule: [2, 2], name: halves}
benchmark: {warmups: 1, iterations: 4}
)";

class UlyssesRun : public testing::Test {
 protected:
  ResolvedConfig config(std::vector<std::string> sets = {},
                        std::optional<std::string> runtime = {}) const {
    return load_config(scratch_.folder() / "config.yaml", {std::move(sets), std::move(runtime)});
  }
  /// What run_config() does where there is no other attention.
  RunResult run(const ResolvedConfig& config) const {
    return run_attention(config, ulysses::HostAttention());
  }
  Json variants_of(const RunResult& run) const { return metrics(run)["ulysses"]["variants"]; }

  const Scratch scratch_;
  const fs::path files_[2] = {scratch_.write("config.yaml", kFiveVariants),
                              scratch_.write("profile.yaml", kLinksAndAttention)};
};

TEST_F(UlyssesRun, FiguresAreThoseWorkedOutByHand) {
  const Json m = metrics(run(config()));
  EXPECT_EQ(m["complete"], true);
  EXPECT_EQ(m["races"], 0);
  const Json& u = m["ulysses"];
  EXPECT_EQ(u["ranks"], 2);
  EXPECT_EQ(u["attention"], "host");
  struct Row {
    const char* name;
    double median, over, exposed, hidden, limit;  // us; %
  };
  // All together 120 + 400 + 40. Overlapped, the first band's scatter and the last one's gather are
  // left: 30 + 400 + 10, and 60 + 400 + 20 of halves.
  const Row rows[] = {{"ordinary", 560, 1, 160, 0, 560},
                      {"whole_fused", 560, 1, 160, 0, 560},
                      {"chunk_sequential 1+2+1", 560, 1, 160, 0, 440},
                      {"chunk_overlap 1+2+1", 440, 560.0 / 440, 40, 75, 440},
                      {"halves", 480, 560.0 / 480, 80, 50, 480}};
  ASSERT_EQ(u["variants"].size(), std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const Json& variant = u["variants"][i];
    const Row& row = rows[i];
    EXPECT_EQ(variant["name"], row.name);
    EXPECT_EQ(variant["iterations"], 4);
    for (const char* key : {"median_ms", "p90_ms", "min_ms", "max_ms"}) {
      EXPECT_NEAR(variant[key], row.median / 1000, 1e-5) << row.name << " " << key;
    }
    EXPECT_NEAR(variant["speedup_over_ordinary"], row.over, 1e-4) << row.name;
    EXPECT_NEAR(variant["speedup_over_whole_fused"], row.over, 1e-4) << row.name;
    EXPECT_NEAR(variant["communication_ms"], 0.160, 1e-5) << row.name;
    EXPECT_NEAR(variant["exposed_ms"], row.exposed / 1000, 1e-5) << row.name;
    EXPECT_NEAR(variant["hidden_pct"], row.hidden, 0.01) << row.name;
    EXPECT_NEAR(variant["limit_ms"], row.limit / 1000, 1e-5) << row.name;
    EXPECT_EQ(variant["difference"], 0);
    // 4 heads of 5 tokens and 4 elements of 4 bytes go to the other rank, three times over.
    EXPECT_EQ(variant["sent_bytes"]["qkv"], 3 * 4 * 5 * 4 * 4);
  }
  EXPECT_EQ(u["variants"][3]["slots"], 3);
  EXPECT_EQ(u["parts"].size(), 3U + 5U + 5U);
  EXPECT_EQ(u["parts"][7]["name"], "last_output 1+2+1");
  EXPECT_NEAR(u["parts"][7]["median_ms"], 0.010, 1e-5);
}

TEST_F(UlyssesRun, EverySampleIsKept) {
  const RunResult result = run(config());
  const std::string csv = samples_csv(result.ulysses());
  const auto count = [&csv](const std::string& what) {
    std::size_t found = 0;
    for (auto at = csv.find(what); at != std::string::npos; at = csv.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\nordinary,"), 4U * 2U);
  EXPECT_EQ(count("\nhalves,"), 4U * 2U);
  EXPECT_EQ(count("\nattention 2+2,"), 4U * 2U);
  EXPECT_EQ(count("\n"), 1 + (5U + 13U) * 4U * 2U);
  EXPECT_EQ(csv.find("variant,iteration,rank,pass_us,enqueue_us,step\n"), 0U);
  EXPECT_EQ(result.steps(), (5U + 13U) * 5U) << "warm-ups are steps as well";
}

TEST_F(UlyssesRun, OnThreadsItIsCheckedAndHasNoRaces) {
  const RunResult result = run(config({"variants.3.graphs=on", "shape.type=bf16"}, "cpu"));
  const Json m = metrics(result);
  EXPECT_EQ(m["races"], 0);
  EXPECT_LT(m["ulysses"]["checked"]["one_device_difference"], 0.01);
  for (const Json& variant : m["ulysses"]["variants"]) {
    EXPECT_EQ(variant["difference"], 0);
    EXPECT_GT(variant["median_ms"], 0);
  }
}

TEST_F(UlyssesRun, WithoutEffectsNothingIsCheckedAndTimesAreTheSame) {
  const Json with = variants_of(run(config()));
  const RunResult without = run(config({"runtime.effects=off"}));
  EXPECT_EQ(metrics(without)["ulysses"]["checked"], nullptr);
  const Json timed = variants_of(without);
  ASSERT_EQ(timed.size(), with.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(timed[i]["difference"], nullptr);
    EXPECT_NEAR(timed[i]["median_ms"], with[i]["median_ms"], 1e-5);
  }
}

TEST_F(UlyssesRun, FiguresThatNeedAnAbsentVariantAreNull) {
  const Json variants = variants_of(run(config({"variants=[{strategy: chunk_overlap}]"})));
  EXPECT_EQ(variants[0]["speedup_over_ordinary"], nullptr);
  EXPECT_EQ(variants[0]["speedup_over_whole_fused"], nullptr);
  EXPECT_NEAR(variants[0]["exposed_ms"], 0.040, 1e-5);
}

TEST_F(UlyssesRun, AWrongOutputEndsTheRunAndSaysWhere) {
  const ulysses::SpoiledAttention wrong([](const ulysses::AttentionBand& band, float* output) {
    if (band.query_heads == 2) output[0] += 1;
  });
  try {
    run_attention(config(), wrong);
    FAIL() << "nothing was thrown";
  } catch (const InterruptedRun& error) {
    EXPECT_THAT(error.what(), HasSubstr("variant 'chunk_sequential 1+2+1' is wrong at rank 0: "));
    const fs::path folder =
        write_incomplete_run(scratch_.folder() / "run", config(), error.so_far());
    const auto m = Json::parse(read_text(folder / "metrics.json"));
    EXPECT_EQ(m["complete"], false);
    EXPECT_EQ(m["steps"], 0);
    EXPECT_EQ(m["races"], nullptr);
    EXPECT_EQ(m["ulysses"]["variants"][0]["difference"], 0);
    EXPECT_NEAR(m["ulysses"]["variants"][2]["difference"], 1, 1e-5);
    EXPECT_EQ(m["ulysses"]["variants"][2]["median_ms"], nullptr);
  }
}

TEST_F(UlyssesRun, AnErrorInTheMiddleLeavesTheStepsOfBefore) {
  // One device's attention, and of each variant two passes at two ranks; then a few more.
  constexpr int kUntilTimed = 1 + 2 * 2 * (1 + 1 + 3 + 3 + 2);
  try {
    run_attention(config(), ulysses::failing_attention(kUntilTimed + 50));
    FAIL() << "nothing was thrown";
  } catch (const InterruptedRun& error) {
    EXPECT_THAT(error.what(), HasSubstr("the attention's fault"));
    const RunResult& so_far = error.so_far();
    EXPECT_GT(so_far.steps(), 18U) << "past the warm-up";
    EXPECT_LT(so_far.steps(), 5U * 18U);
    const auto figures = entrant_figures(so_far.ulysses());
    EXPECT_TRUE(std::ranges::any_of(figures, [](const auto& f) { return f.time.has_value(); }));
    const fs::path folder = write_incomplete_run(scratch_.folder() / "run", config(), so_far);
    EXPECT_TRUE(fs::exists(folder / "samples.csv"));
    EXPECT_TRUE(fs::exists(folder / "timeline.json"));
  }
}

TEST_F(UlyssesRun, ProgressCountsSteps) {
  std::vector<std::uint64_t> done;
  std::uint64_t most = 0;
  run_attention(config(), ulysses::HostAttention(), [&](const Progress& progress) {
    done.push_back(progress.done);
    most = progress.most;
  });
  EXPECT_EQ(most, 5U * 18U);
  EXPECT_EQ(done.size(), most);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST(SpreadTest, TheMedianLiesBetweenTheMiddleTwoAndP90IsOneOfTheValues) {
  EXPECT_FALSE(spread({}));
  const auto even = spread({4'000'000, 1'000'000, 2'000'000, 9'000'000});
  EXPECT_EQ(even->count, 4U);
  EXPECT_EQ(even->median, 3);
  EXPECT_EQ(even->p90, 9);
  EXPECT_EQ(even->min, 1);
  EXPECT_EQ(even->max, 9);
  EXPECT_EQ(spread({5'000'000, 1'000'000, 2'000'000})->median, 2);
  std::vector<runtime::Nanos> ten;
  for (int i = 1; i <= 10; ++i) ten.push_back(i * 1'000'000);
  EXPECT_EQ(spread(ten)->p90, 9);
}

TEST(FiguresTest, AStepsTimeIsItsSlowestRanks) {
  UlyssesResult run;
  run.ranks = 2;
  run.rotation = {1, 1, 2};
  run.entrants = {{"only", {}, 0}};
  run.samples = {{0, 0, 90'000'000, 0},    {0, 1, 90'000'000, 0},  // the warm-up
                 {1, 0, 3'000'000, 5'000}, {1, 1, 4'000'000, 1'000},
                 {2, 0, 7'000'000, 2'000}, {2, 1, 2'000'000, 9'000}};
  const auto figures = entrant_figures(run);
  EXPECT_EQ(figures[0].time->min, 4);
  EXPECT_EQ(figures[0].time->max, 7);
  EXPECT_THAT(figures[0].enqueue->median * 1e3, DoubleNear(7, 1e-9));
}

}  // namespace
}  // namespace syncopate::experiments
