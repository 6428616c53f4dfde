// Who is in which step, and what is refused.
#include "backend/batching/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/runtime/error.h"

namespace syncopate::batching {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Request request(std::uint32_t prompt, std::uint32_t max_new_tokens,
                std::vector<std::int32_t> eos = {}) {
  return {std::vector<std::int32_t>(prompt, 3), max_new_tokens, std::move(eos)};
}

models::BatchLimits limits(std::uint32_t rows, std::uint32_t tokens, std::uint32_t pages) {
  return {.rows = rows, .tokens = tokens, .pages_per_row = 8, .page_tokens = 4, .pages = pages};
}

// A scheduler with one slot on the host, stepped by hand.
class Stepper {
 public:
  Stepper(const models::BatchLimits& limits, std::vector<Request> requests)
      : requests_(std::move(requests)),
        layout_(limits),
        scheduler_(layout_, {{}, 16, 4}, requests_),
        in_(layout_.input_words()),
        out_(limits.rows, 0) {
    slot_.in = in_.data();
    slot_.out = out_.data();
    slot_.pages_written.resize(limits.rows);
    rows_.request.resize(limits.rows);
  }

  /// Plans the next step; the requests in it, empty when there is none.
  std::vector<std::uint32_t> plan() {
    if (!scheduler_.plan(step_++, slot_, rows_, false)) return {};
    scheduler_.verify();
    return {rows_.request.begin(), rows_.request.begin() + rows_.rows};
  }
  /// The planned step's rows all sampled `id`.
  std::uint32_t update(std::int32_t id = 0) {
    out_.assign(out_.size(), id);
    const std::uint32_t discarded = scheduler_.update(rows_, slot_.out);
    scheduler_.verify();
    return discarded;
  }
  std::vector<std::uint32_t> step(std::int32_t id = 0) {
    auto planned = plan();
    if (!planned.empty()) update(id);
    return planned;
  }

  const Slot& slot() const { return slot_; }
  Scheduler& scheduler() { return scheduler_; }

 private:
  std::vector<Request> requests_;
  models::BatchLayout layout_;
  Scheduler scheduler_;
  std::vector<std::int32_t> in_, out_;
  Slot slot_;
  StepRows rows_;
  std::int32_t step_ = 0;
};

TEST(SchedulerTest, AdmitsInOrderAsRowsAllow) {
  Stepper stepper(limits(2, 16, 64), {request(2, 1), request(2, 2), request(2, 1)});
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));
  EXPECT_THAT(stepper.step(), ElementsAre(1, 2));  // 0 has ended and left its row
  EXPECT_THAT(stepper.step(), ElementsAre());
  EXPECT_TRUE(stepper.scheduler().finished());
}

TEST(SchedulerTest, APromptWaitsForTheTokensThatItNeeds) {
  Stepper stepper(limits(3, 6, 64), {request(4, 3), request(4, 1)});
  EXPECT_THAT(stepper.step(), ElementsAre(0));     // 4 + 4 tokens are more than 6
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));  // 1 + 4 are not
}

TEST(SchedulerTest, ARequestWaitsForAllThePagesOfItsWorstCase) {
  // 4 + 5 - 1 entries are two pages; three pages hold one such request, not two.
  Stepper stepper(limits(2, 16, 3), {request(4, 5), request(4, 5)});
  for (int i = 0; i < 5; ++i) EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_THAT(stepper.step(), ElementsAre(1));
}

TEST(SchedulerTest, TheLastTokenTakesNoEntry) {
  // 4 + 1 tokens, but 4 entries: one page is enough.
  Stepper stepper(limits(1, 16, 1), {request(4, 1)});
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_EQ(stepper.scheduler().result(0).reason, FinishReason::kLength);
}

TEST(SchedulerTest, ARowInFlightAtAnEndByEosIsDiscarded) {
  Stepper stepper(limits(2, 16, 64), {request(2, 9, {7}), request(2, 9)});
  stepper.step(0);
  EXPECT_THAT(stepper.plan(), ElementsAre(0, 1));
  EXPECT_EQ(stepper.update(7), 0U);
  EXPECT_EQ(stepper.scheduler().result(0).reason, FinishReason::kEos);
  EXPECT_THAT(stepper.scheduler().result(0).tokens, ElementsAre(0, 7));
  EXPECT_THAT(stepper.step(), ElementsAre(1));
}

TEST(SchedulerTest, TheCostCountsRowsTokensAndEntriesRead) {
  Stepper stepper(limits(2, 16, 64), {request(3, 4), request(5, 4)});
  stepper.step();
  EXPECT_EQ(stepper.slot().cost.tokens, 8U);
  EXPECT_EQ(stepper.slot().cost.kv_tokens, 8U);
  EXPECT_EQ(stepper.slot().cost.max_kv_tokens, 5U);
  EXPECT_EQ(stepper.slot().cost.attention_pairs, (1U + 2 + 3) + (1 + 2 + 3 + 4 + 5));
  EXPECT_EQ(stepper.slot().cost.changed_rows, 2U);
  stepper.step();
  EXPECT_EQ(stepper.slot().cost.tokens, 2U);
  EXPECT_EQ(stepper.slot().cost.kv_tokens, 4U + 6);
  EXPECT_EQ(stepper.slot().cost.max_kv_tokens, 6U);
  EXPECT_EQ(stepper.slot().cost.attention_pairs, 4U + 6);
  EXPECT_EQ(stepper.slot().cost.changed_rows, 0U);
  stepper.step();
  EXPECT_EQ(stepper.slot().cost.kv_tokens, 5U + 7);
  EXPECT_EQ(stepper.slot().cost.attention_pairs, 5U + 7);
}

TEST(SchedulerTest, WhatCanNeverFitIsRefusedByName) {
  const struct {
    models::BatchLimits limits;
    Request request;
    const char* text;
  } cases[] = {
      {limits(1, 16, 64), request(0, 1), "request 0 has an empty prompt"},
      {limits(1, 16, 64), request(1, 0), "request 0 asks for no token"},
      {limits(1, 16, 64), request(17, 1), "a step takes 16"},
      {limits(1, 16, 2), request(8, 2), "needs 3 KV pages at its end; 2 is the most"},
      {limits(1, 64, 64), request(30, 4), "needs 9 KV pages at its end; 8 is the most"},
      {limits(4, 3, 64), request(1, 1), "cannot decode 4 rows"},
  };
  for (const auto& each : cases) {
    try {
      Stepper stepper(each.limits, {each.request});
      ADD_FAILURE() << each.text;
    } catch (const runtime::UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(each.text));
    }
  }
}

}  // namespace
}  // namespace syncopate::batching
