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
  Request made;
  made.prompt.assign(prompt, 3);
  made.max_new_tokens = max_new_tokens;
  made.eos = std::move(eos);
  return made;
}

models::BatchLimits limits(std::uint32_t rows, std::uint32_t tokens, std::uint32_t pages) {
  return {.rows = rows, .tokens = tokens, .pages_per_row = 8, .page_tokens = 4, .pages = pages};
}

// A scheduler with one slot on the host, stepped by hand.
class Stepper {
 public:
  Stepper(const models::BatchLimits& limits, std::vector<Request> requests,
          const SchedulerOptions& options = {})
      : requests_(std::move(requests)),
        layout_(limits),
        scheduler_(layout_, {{}, 16, 4}, {}, options, requests_),
        in_(layout_.input_words()),
        out_(limits.rows, 0) {
    slot_.in = in_.data();
    slot_.out = out_.data();
    slot_.stay.resize(limits.rows);
    slot_.pages_written.resize(limits.rows);
    rows_.request.resize(limits.rows);
  }

  /// Plans the next step; the requests that it samples for, empty when there is none.
  std::vector<std::uint32_t> plan(bool previous_in_flight = false) {
    if (!scheduler_.plan(step_++, slot_, rows_, previous_in_flight)) return {};
    scheduler_.verify();
    return {rows_.request.begin(), rows_.request.begin() + rows_.rows};
  }
  /// The planned step's rows all sampled `id`.
  std::uint32_t update(std::int32_t id = 0, const OnToken& on_token = {}) {
    out_.assign(out_.size(), id);
    const std::uint32_t discarded = scheduler_.update(rows_, slot_.out, on_token);
    scheduler_.verify();
    return discarded;
  }
  /// The same of a step that was planned before.
  void update(const StepRows& rows) {
    scheduler_.update(rows, out_.data());
    scheduler_.verify();
  }
  std::vector<std::uint32_t> step(std::int32_t id = 0, const OnToken& on_token = {}) {
    auto planned = plan();
    if (!planned.empty()) update(id, on_token);
    return planned;
  }

  const Slot& slot() const { return slot_; }
  const StepRows& rows() const { return rows_; }
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

TEST(SchedulerTest, APromptIsPrefilledInChunksOfWhatTheStepHasLeft) {
  Stepper stepper(limits(3, 6, 64), {request(4, 3), request(5, 1)});
  EXPECT_THAT(stepper.step(), ElementsAre(0, kNobody));  // 4 tokens, and 2 of the second's 5
  EXPECT_EQ(stepper.slot().tokens, 6U);
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));  // 1, and the other 3
  EXPECT_EQ(stepper.slot().tokens, 4U);
  EXPECT_THAT(stepper.step(), ElementsAre(0));
}

TEST(SchedulerTest, AChunkIsNoLargerThanAsked) {
  Stepper stepper(limits(2, 16, 64), {request(7, 1)}, {TokenPolicy::kDecodeFirst, 3});
  EXPECT_THAT(stepper.step(), ElementsAre(kNobody));
  EXPECT_EQ(stepper.slot().tokens, 3U);
  EXPECT_THAT(stepper.step(), ElementsAre(kNobody));
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_EQ(stepper.slot().tokens, 1U);
}

TEST(SchedulerTest, PrefillFirstMakesRowsThatDecodeSitOut) {
  for (const TokenPolicy policy : {TokenPolicy::kDecodeFirst, TokenPolicy::kPrefillFirst}) {
    Stepper stepper(limits(2, 4, 64), {request(2, 5), request(8, 1)}, {policy, 0});
    EXPECT_THAT(stepper.step(), ElementsAre(0, kNobody));  // 2 + 2 tokens
    if (policy == TokenPolicy::kDecodeFirst) {
      EXPECT_THAT(stepper.step(), ElementsAre(0, kNobody));  // 1 + 3
      EXPECT_THAT(stepper.step(), ElementsAre(0, 1));        // 1 + 3
    } else {
      EXPECT_THAT(stepper.step(), ElementsAre(kNobody));  // 4
      EXPECT_THAT(stepper.step(), ElementsAre(0, 1));     // 2 and the 1 that is left
    }
  }
}

TEST(SchedulerTest, WithoutPagesTheLastServedIsComputedAgain) {
  // 4 + 5 - 1 entries are two pages: both start in one, and the third page goes to the first.
  Stepper stepper(limits(2, 16, 3), {request(4, 5), request(4, 5)});
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));
  EXPECT_THAT(stepper.step(), ElementsAre(0));  // 1 has lost its page
  EXPECT_EQ(stepper.scheduler().preempted(), 1U);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_THAT(stepper.step(), ElementsAre(1));
  EXPECT_EQ(stepper.slot().tokens, 5U);  // its prompt, and the token that it had
  for (int i = 0; i < 3; ++i) EXPECT_THAT(stepper.step(), ElementsAre(1));
  EXPECT_THAT(stepper.step(), ElementsAre());
  EXPECT_EQ(stepper.scheduler().result(1).tokens.size(), 5U);
  EXPECT_EQ(stepper.scheduler().result(1).preemptions, 1U);
  EXPECT_TRUE(stepper.scheduler().finished());
}

// With three steps in flight. The first prompt has 12 tokens in chunks of 4; before its last chunk
// the answers have taken its pages, and the three that retire are too few: the last request loses
// its own. When then the first is cancelled, those three would do for the last. But its second
// token is still in flight: computed again now, it would get that token twice.
TEST(SchedulerTest, WhoLostItsPagesWaitsForItsTokensInFlight) {
  std::vector<Request> requests = {request(12, 5), request(3, 1), request(1, 9), request(1, 9)};
  requests[0].cancel = 5;
  Stepper stepper({.rows = 4, .tokens = 32, .pages_per_row = 17, .page_tokens = 1, .pages = 17},
                  std::move(requests), {TokenPolicy::kDecodeFirst, 4});
  EXPECT_THAT(stepper.plan(), ElementsAre(kNobody, 1, 2, 3));
  const StepRows first = stepper.rows();
  EXPECT_THAT(stepper.plan(true), ElementsAre(2, 3, kNobody));
  const StepRows second = stepper.rows();
  EXPECT_THAT(stepper.plan(true), ElementsAre(2));
  EXPECT_EQ(stepper.scheduler().preempted(), 1U);
  stepper.update(first);
  stepper.scheduler().advance(5);
  EXPECT_THAT(stepper.plan(true), ElementsAre(2));
  stepper.update(second);
  EXPECT_THAT(stepper.plan(true), ElementsAre(2, 3));
  EXPECT_EQ(stepper.slot().tokens, 1U + 3);  // its prompt and its two tokens
}

TEST(SchedulerTest, ThePriorityGoesFirstAndItsEqualsAsTheyCame) {
  std::vector<Request> requests(4, request(2, 1));
  requests[1].priority = 1;
  requests[3].priority = 1;
  Stepper stepper(limits(1, 16, 64), std::move(requests));
  for (const std::uint32_t who : {1U, 3U, 0U, 2U}) EXPECT_THAT(stepper.step(), ElementsAre(who));
}

TEST(SchedulerTest, ARequestThatArrivesLaterWaitsUntilThen) {
  std::vector<Request> requests(2, request(2, 2));
  requests[1].arrival = 1000;
  Stepper stepper(limits(2, 16, 64), std::move(requests));
  EXPECT_EQ(stepper.scheduler().next_event(), 1000);
  stepper.scheduler().advance(999);
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  stepper.scheduler().advance(1000);
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));
  EXPECT_EQ(stepper.scheduler().next_event(), kNever);
}

TEST(SchedulerTest, ACancelledRequestLeavesAndKeepsWhatItGot) {
  std::vector<Request> requests(3, request(2, 4));
  requests[1].cancel_tokens = 2;
  requests[2].cancel = 5;  // while it waits
  Stepper stepper(limits(2, 16, 64), std::move(requests));
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));
  stepper.scheduler().advance(5);
  EXPECT_THAT(stepper.step(), ElementsAre(0, 1));
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_EQ(stepper.scheduler().result(1).reason, FinishReason::kCancelled);
  EXPECT_EQ(stepper.scheduler().result(1).tokens.size(), 2U);
  EXPECT_EQ(stepper.scheduler().result(2).reason, FinishReason::kCancelled);
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_TRUE(stepper.scheduler().finished());
}

// The second waits for pages that the first holds, and the third, for which one is there, behind
// it.
TEST(SchedulerTest, WhenTheFirstInTheQueueGivesUpTheNextIsAdmitted) {
  std::vector<Request> requests = {request(5, 4), request(12, 1), request(2, 1)};
  requests[1].cancel = 5;
  Stepper stepper(limits(3, 16, 4), requests);
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  stepper.scheduler().advance(5);
  EXPECT_THAT(stepper.step(), ElementsAre(0, 2));

  requests[1].cancel = kNever;
  Stepper told(limits(3, 16, 4), requests);
  EXPECT_THAT(told.step(), ElementsAre(0));
  EXPECT_THAT(told.step(), ElementsAre(0));
  told.scheduler().cancel(1);
  EXPECT_THAT(told.step(), ElementsAre(0, 2));
}

TEST(SchedulerTest, NobodyIsWaitedForOnceAllHaveEnded) {
  std::vector<Request> requests(3, request(2, 1));
  requests[0].cancel = 1000;
  requests[1].cancel = 5;  // before it comes
  requests[1].arrival = 2000;
  requests[2].cancel = 6;
  Stepper stepper(limits(1, 16, 64), std::move(requests));
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_EQ(stepper.scheduler().next_event(), 5);
  stepper.scheduler().advance(5);
  EXPECT_EQ(stepper.scheduler().next_event(), 6);
  stepper.scheduler().advance(6);
  EXPECT_TRUE(stepper.scheduler().finished());
  EXPECT_EQ(stepper.scheduler().next_event(), kNever);
}

// Both want a second page in the second step, and none is left. Its first has to retire before
// anything can be computed, so that plan comes to nothing.
TEST(SchedulerTest, APreemptionOfAPlanThatCameToNothingCountsForTheNextStep) {
  Stepper stepper(limits(2, 16, 2), {request(4, 3), request(4, 3)});
  EXPECT_THAT(stepper.plan(), ElementsAre(0, 1));
  EXPECT_THAT(stepper.plan(true), ElementsAre());
  stepper.update();
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_EQ(stepper.scheduler().preempted(), 1U);
  EXPECT_THAT(stepper.step(), ElementsAre(0));
  EXPECT_EQ(stepper.scheduler().preempted(), 0U);
}

TEST(SchedulerTest, AStopSequenceEndsARequest) {
  Request one = request(2, 9);
  one.stop = {{5, 6}, {7, 7, 7}};
  Stepper stepper(limits(1, 16, 64), {one});
  for (const std::int32_t id : {7, 7, 5, 7, 5}) stepper.step(id);
  EXPECT_EQ(stepper.scheduler().result(0).reason, FinishReason::kNone);
  stepper.step(6);
  EXPECT_EQ(stepper.scheduler().result(0).reason, FinishReason::kStop);
  EXPECT_THAT(stepper.scheduler().result(0).tokens, ElementsAre(7, 7, 5, 7, 5, 6));
}

TEST(SchedulerTest, AnIdMayBeUsedAgainOnceItIsFree) {
  std::vector<Request> requests(3, request(2, 2));
  for (Request& each : requests) each.id = 77;
  requests[2].arrival = 10;
  Stepper stepper(limits(2, 16, 64), std::move(requests));
  EXPECT_EQ(stepper.scheduler().result(1).reason, FinishReason::kRefused);
  EXPECT_THAT(stepper.scheduler().result(1).error,
              HasSubstr("has the id 77 of request 0, which is still being served"));
  stepper.step();
  stepper.step();
  stepper.scheduler().advance(10);
  EXPECT_THAT(stepper.step(), ElementsAre(2));
}

TEST(SchedulerTest, EveryTokenIsToldOnceWithItsPlaceAndItsEnd) {
  std::vector<TokenEvent> told;
  Stepper stepper(limits(2, 16, 64), {request(2, 2), request(2, 3, {9})});
  const OnToken on_token = [&told](const TokenEvent& event) { told.push_back(event); };
  stepper.step(4, on_token);
  stepper.step(9, on_token);
  ASSERT_EQ(told.size(), 4U);
  const auto expect = [&told](std::size_t i, const TokenEvent& e) {
    EXPECT_EQ(told[i].request, e.request);
    EXPECT_EQ(told[i].index, e.index);
    EXPECT_EQ(told[i].token, e.token);
    EXPECT_EQ(told[i].reason, e.reason);
  };
  expect(0, {0, 0, 4, FinishReason::kNone});
  expect(1, {1, 0, 4, FinishReason::kNone});
  expect(2, {0, 1, 9, FinishReason::kLength});
  expect(3, {1, 1, 9, FinishReason::kEos});
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

TEST(SchedulerTest, WhatCanNeverBeServedIsRefusedAndTheRestIsServed) {
  const struct {
    models::BatchLimits limits;
    Request request;
    const char* text;
  } cases[] = {
      {limits(1, 16, 64), request(0, 1), "has an empty prompt"},
      {limits(1, 16, 64), request(1, 0), "asks for no token"},
      {limits(1, 16, 2), request(8, 2), "needs 3 KV pages at its end; 2 is the most"},
      {limits(1, 64, 64), request(30, 4), "needs 9 KV pages at its end; 8 is the most"},
      {limits(1, 64, 64), request(5, 2, {-1}), "has the EOS id -1, outside the vocabulary"},
  };
  for (const auto& each : cases) {
    Stepper stepper(each.limits, {request(1, 1), each.request, request(1, 2)});
    const RequestResult refused = stepper.scheduler().result(1);
    EXPECT_EQ(refused.reason, FinishReason::kRefused);
    EXPECT_THAT(std::string(refused.error), HasSubstr(each.text));
    while (!stepper.step().empty()) {
    }
    EXPECT_TRUE(stepper.scheduler().finished());
    EXPECT_EQ(stepper.scheduler().result(0).tokens.size(), 1U);
    EXPECT_EQ(stepper.scheduler().result(2).tokens.size(), 2U);
  }
}

TEST(SchedulerTest, AStepThatCannotDecodeAllRowsIsRefused) {
  EXPECT_THROW(Stepper(limits(4, 3, 64), {request(1, 1)}), runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::batching
