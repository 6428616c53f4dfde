// What is kept of a run that an error ends, on the runtimes that need no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/timeline_io.h"
#include "backend/models/hash/hash_model.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "tests/batching/faulty_model.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

constexpr int kGoodSteps = 7;
constexpr const char* kInterrupted =
    "program: batching\n"
    "runtime: {kind: sim, profile: h200}\n"
    "model: {kind: hash, vocab: 64}\n"
    "strategy: {kind: async}\n"
    "requests: {count: 4, prompt_tokens: 8, max_new_tokens: {min: 4, max: 16}}\n"
    "limits: {rows: 4, tokens: 32, page_tokens: 4, pages: 32}\n"
    "output: {tokens: true, trace: true}\n";

struct NoFaultArgs {};
void fail_forward(runtime::Exec&, const NoFaultArgs&) {
  throw std::runtime_error("the kernel's fault");
}

struct Interrupted {
  explicit Interrupted(const ResolvedConfig& config) {
    const models::hash::HashModel model({.vocab = 64});
    const batching::FaultyModel faulty(
        model, {.host = runtime::Body::of<fail_forward>(NoFaultArgs{}), .cuda = {}}, kGoodSteps);
    try {
      run_model(config, faulty);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InterruptedRun& error) {
      text = error.what();
      so_far = std::make_shared<InterruptedRun>(error);
    }
  }
  const RunResult& run() const { return so_far->so_far(); }

  std::string text;
  std::shared_ptr<const InterruptedRun> so_far;
};

class InterruptedRunTest : public testing::TestWithParam<const char*> {
 protected:
  ResolvedConfig config() const {
    Overrides overrides;
    overrides.runtime = GetParam();
    return load_config(scratch_.write("config.yaml", kInterrupted), overrides);
  }
  const Scratch scratch_;
};

TEST_P(InterruptedRunTest, HasTheStepsAndTokensOfBeforeTheError) {
  const RunResult complete = run_config(config());
  const BatchingResult& whole = complete.batching();
  const Interrupted interrupted(config());
  ASSERT_NE(interrupted.so_far, nullptr);
  EXPECT_THAT(interrupted.text, HasSubstr("the kernel's fault"));
  EXPECT_EQ(interrupted.run().error, interrupted.text);
  const BatchingResult& run = interrupted.run().batching();
  EXPECT_FALSE(run.tokens_digest.has_value());
  // The failing step and the one before it may both be in flight.
  EXPECT_GE(run.steps.size(), kGoodSteps - 1U);
  EXPECT_LE(run.steps.size(), std::size_t{kGoodSteps});
  ASSERT_EQ(run.tokens.size(), whole.tokens.size());
  std::size_t known = 0;
  for (std::size_t i = 0; i < run.tokens.size(); ++i) {
    const auto& tokens = run.tokens[i];
    known += tokens.size();
    ASSERT_LE(tokens.size(), whole.tokens[i].size());
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.tokens[i].begin()));
    EXPECT_EQ(run.requests[i].new_tokens(), tokens.size());
    for (const std::int32_t step : run.requests[i].token_steps) {
      EXPECT_LT(static_cast<std::size_t>(step), run.steps.size());
    }
  }
  EXPECT_GT(known, 0U);
}

TEST_P(InterruptedRunTest, IsKeptInAFolderThatNobodyTakesForAWholeRun) {
  const Interrupted interrupted(config());
  ASSERT_NE(interrupted.so_far, nullptr);
  const fs::path target = scratch_.folder() / "run";
  const fs::path folder = write_incomplete_run(target, config(), interrupted.run());
  EXPECT_EQ(folder, scratch_.folder() / "run.incomplete");
  EXPECT_FALSE(fs::exists(target));

  const auto figures = nlohmann::json::parse(read_text(folder / "metrics.json"));
  EXPECT_EQ(figures["complete"], false);
  EXPECT_EQ(figures["error"], interrupted.text);
  EXPECT_EQ(figures["steps"], interrupted.run().steps());
  EXPECT_EQ(figures["tokens_digest"], nullptr);
  EXPECT_EQ(figures["races"], nullptr);
  const std::string steps = read_text(folder / "steps.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::count(steps.begin(), steps.end(), '\n')),
            1 + interrupted.run().steps());
  EXPECT_NO_THROW(analysis::read_timeline(folder / "timeline.json"));
  EXPECT_TRUE(fs::exists(folder / "trace.json.gz"));
  EXPECT_TRUE(fs::exists(folder / "tokens.json"));
}

TEST_P(InterruptedRunTest, ReplacesAnOlderOneButNothingElse) {
  const Interrupted interrupted(config());
  ASSERT_NE(interrupted.so_far, nullptr);
  const fs::path target = scratch_.folder() / "run";
  write_incomplete_run(target, config(), interrupted.run());
  EXPECT_NO_THROW(write_incomplete_run(target, config(), interrupted.run()));
  scratch_.write("other.incomplete/notes.txt", "mine");
  EXPECT_THROW(write_incomplete_run(scratch_.folder() / "other", config(), interrupted.run()),
               RunFolderExistsError);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, InterruptedRunTest, testing::Values("sim", "cpu"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CompleteRun, SaysSo) {
  const Scratch scratch;
  const RunResult run = run_config(load_config(scratch.write("config.yaml", kInterrupted)));
  EXPECT_EQ(metrics(run)["complete"], true);
  EXPECT_FALSE(metrics(run).contains("error"));
}

}  // namespace
}  // namespace syncopate::experiments
