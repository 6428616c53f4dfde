// Asynchronous equals synchronous: the same tokens from every strategy, with and without graphs,
// with two slots and three, on virtual time and on threads, and the ones that the model's
// definition gives with no batching at all.
#include <gtest/gtest.h>

#include <string>

#include "analysis/races.h"
#include "backend/cpu/cpu_engine.h"
#include "sim/sim_engine.h"
#include "tests/batching/variants.h"
#include "tests/batching/workload.h"

namespace syncopate::batching {
namespace {

// The steps that a run takes are known too: a request's row costs a step a token; an end by EOS
// costs at most one discarded row for each step in flight beyond the first.
void expect_few_discarded(const Outcome& outcome, const Workload& workload, std::uint32_t depth) {
  std::uint64_t ends_by_eos = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    if (outcome.tokens[i].size() < workload.requests[i].max_new_tokens) ++ends_by_eos;
  }
  std::uint64_t discarded = 0;
  for (const StepRecord& step : outcome.steps) discarded += step.discarded;
  EXPECT_LE(discarded, ends_by_eos * (depth - 1));
}

TEST(EqualityTest, EveryStrategyInVirtualTimeGivesTheModelsTokens) {
  const std::uint64_t count = seeds(500);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const Workload workload = random_workload(seed);
    const auto expected = expected_tokens(workload);
    for (const Variant& variant : variants()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + variant.name);
      const Outcome outcome =
          serve(sim::make_sim_engine(small_machine(), {}, 1), workload, variant.options);
      ASSERT_EQ(outcome.tokens, expected);
      expect_few_discarded(
          outcome, workload,
          variant.options.strategy == StrategyKind::kAsync ? variant.options.slots : 1);
      if (seed % 10 == 0) {
        ASSERT_TRUE(analysis::find_races(outcome.timeline).empty());
      }
    }
  }
}

TEST(EqualityTest, EveryStrategyOnThreadsGivesTheModelsTokens) {
  const std::uint64_t count = seeds(500);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const Workload workload = random_workload(seed);
    const auto expected = expected_tokens(workload);
    for (const Variant& variant : variants()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + variant.name);
      const Outcome outcome = serve(cpu::make_cpu_engine({}, 1), workload, variant.options);
      ASSERT_EQ(outcome.tokens, expected);
      if (seed % 10 == 0) {
        ASSERT_TRUE(analysis::find_races(outcome.timeline).empty());
      }
    }
  }
}

TEST(EqualityTest, LengthEndsComputeNoRowInVain) {
  Workload workload = plain_workload(6, 5, 9);
  for (std::uint32_t i = 0; i < 6; ++i) workload.requests[i].max_new_tokens = 1 + 2 * i;
  for (const std::uint32_t slots : {2U, 3U, 5U}) {
    BatcherOptions options;
    options.slots = slots;
    const Outcome outcome = serve(sim::make_sim_engine(small_machine(), {}, 1), workload, options);
    EXPECT_EQ(outcome.tokens, expected_tokens(workload));
    EXPECT_EQ(outcome.steps.size(), 11U);  // the longest request's tokens
    std::uint64_t rows = 0;
    for (const StepRecord& step : outcome.steps) {
      EXPECT_EQ(step.discarded, 0U);
      rows += step.rows;
    }
    EXPECT_EQ(rows, 1U + 3 + 5 + 7 + 9 + 11);
  }
}

TEST(EqualityTest, ChaosChangesNoToken) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Workload workload = random_workload(seed);
    const auto expected = expected_tokens(workload);
    for (const Variant& variant : variants()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + variant.name);
      sim::SimOptions chaos;
      chaos.chaos = true;
      chaos.seed = seed;
      ASSERT_EQ(serve(sim::make_sim_engine({}, chaos, 1), workload, variant.options).tokens,
                expected);
    }
  }
}

}  // namespace
}  // namespace syncopate::batching
