// Failures seen in other engines, each as a small case in every strategy: what each request gets
// must be what the model's definition gives it alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "sim/sim_engine.h"
#include "tests/batching/variants.h"
#include "tests/batching/workload.h"

namespace syncopate::batching {
namespace {

constexpr runtime::Nanos kStep = 200'000;  // about what a step of small_machine() takes

// Runs the workload in every strategy and hands each outcome to `check`, with what all requests
// would get if nobody gave up.
template <class Check>
void in_every_strategy(const Workload& workload, const Check& check) {
  const auto expected = expected_tokens(workload);
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    check(serve(sim::make_sim_engine(small_machine(), {}, 1), workload, variant.options), expected);
  }
}

bool is_prefix(std::span<const std::int32_t> tokens, std::span<const std::int32_t> of) {
  return tokens.size() <= of.size() && std::ranges::equal(tokens, of.first(tokens.size()));
}

TEST(FailuresTest, AnEmptyQueueAtTheStartIsWaitedOut) {
  Workload workload = plain_workload(3, 4, 6);
  for (Request& request : workload.requests) request.arrival = 50 * kStep;
  in_every_strategy(workload, [](const Outcome& outcome, const auto& expected) {
    EXPECT_EQ(outcome.tokens, expected);
  });
}

TEST(FailuresTest, AfterAllAreCancelledANewRequestGetsItsOwnTokens) {
  Workload workload = plain_workload(3, 4, 40);
  workload.requests[0].cancel = workload.requests[1].cancel = 5 * kStep;
  workload.requests[2].arrival = 60 * kStep;  // long after the last step in flight
  in_every_strategy(workload, [](const Outcome& outcome, const auto& expected) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      EXPECT_TRUE(is_prefix(outcome.tokens[i], expected[i]));
      EXPECT_LT(outcome.tokens[i].size(), expected[i].size());
    }
    EXPECT_EQ(outcome.tokens[2], expected[2]);
  });
}

TEST(FailuresTest, AnIdOfOneCancelledInFlightIsUsedAgainWithoutItsTokens) {
  Workload workload = plain_workload(2, 4, 30);
  for (Request& request : workload.requests) request.id = 9;
  workload.requests[0].cancel = 5 * kStep;
  workload.requests[1].arrival = 5 * kStep + 1;  // the steps in flight still compute the first
  in_every_strategy(workload, [](const Outcome& outcome, const auto& expected) {
    EXPECT_TRUE(is_prefix(outcome.tokens[0], expected[0]));
    EXPECT_EQ(outcome.tokens[1], expected[1]);
  });
}

// Some request loses its pages, and all get their own tokens.
void expect_all_tokens_and_a_preemption(const Workload& workload) {
  in_every_strategy(workload, [](const Outcome& outcome, const auto& expected) {
    const auto preempts = [](const StepRecord& step) { return step.preempted > 0; };
    EXPECT_TRUE(std::ranges::any_of(outcome.steps, preempts));
    EXPECT_EQ(outcome.tokens, expected);
  });
}

TEST(FailuresTest, WhoLosesItsPagesKeepsTheTokenInFlight) {
  Workload workload = plain_workload(4, 5, 24);
  workload.limits.pages = 9;  // one request takes 7
  expect_all_tokens_and_a_preemption(workload);
}

TEST(FailuresTest, APromptCutInChunksThatLosesItsPagesIsReadWhole) {
  Workload workload = plain_workload(4, 20, 12);
  workload.limits.tokens = 6;
  workload.limits.pages = 12;  // one request takes 8
  expect_all_tokens_and_a_preemption(workload);
}

TEST(FailuresTest, OneClientThatLeavesTakesNothingFromTheRest) {
  for (const StrategyKind strategy : {StrategyKind::kOrdered, StrategyKind::kAsync}) {
    SCOPED_TRACE(to_string(strategy));
    const Workload workload = plain_workload(4, 4, 12);
    const auto expected = expected_tokens(workload);
    const models::hash::HashModel model(workload.model);
    runtime::Runtime runtime(sim::make_sim_engine(small_machine(), {}, 1));
    // Told its third token, the second request's client ends the last one's, whose row of the same
    // step has not been looked at yet.
    Batcher* serving = nullptr;
    BatcherOptions options;
    options.strategy = strategy;
    options.on_token = [&serving](const TokenEvent& event) {
      if (event.request == 1 && event.index == 2) serving->cancel(3);
    };
    Batcher batcher(runtime, runtime::Device{0}, model, workload.limits, options,
                    workload.requests);
    serving = &batcher;
    const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
    runtime.run(mains);
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto tokens = batcher.result(i).tokens;
      EXPECT_EQ(std::vector(tokens.begin(), tokens.end()), expected[i]);
    }
    EXPECT_EQ(batcher.result(3).reason, FinishReason::kCancelled);
    EXPECT_EQ(batcher.result(3).tokens.size(), 2U);
  }
}

TEST(FailuresTest, TokensThatWereToldStayAsTheyWere) {
  const Workload workload = plain_workload(3, 4, 20);
  const auto expected = expected_tokens(workload);
  std::vector<std::vector<std::int32_t>> told(workload.requests.size());
  BatcherOptions options;
  options.on_token = [&told](const TokenEvent& event) {
    told[event.request].push_back(event.token);
  };
  serve(sim::make_sim_engine(small_machine(), {}, 1), workload, options);
  EXPECT_EQ(told, expected);
}

}  // namespace
}  // namespace syncopate::batching
