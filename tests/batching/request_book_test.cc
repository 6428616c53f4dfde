// Requests whose clients wait for the end of another: when they come, whatever that end is.
#include "backend/batching/request_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "backend/runtime/error.h"

namespace syncopate::batching {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Request asks(std::optional<std::uint32_t> after = {}, runtime::Nanos think = 0,
             std::int32_t priority = 0) {
  Request request;
  request.prompt = {1};
  request.max_new_tokens = 1;
  request.after = after;
  request.think = think;
  request.priority = priority;
  return request;
}

class RequestBookTest : public testing::Test {
 protected:
  void make(std::vector<Request> requests) {
    requests_ = std::move(requests);
    book_.emplace(requests_,
                  models::BatchLimits{
                      .rows = 8, .tokens = 8, .pages_per_row = 4, .page_tokens = 4, .pages = 8},
                  ModelBounds{.vocab = 8, .max_positions = 8});
  }
  /// Who comes until then.
  std::vector<std::uint32_t> come(runtime::Nanos now) {
    std::vector<std::uint32_t> out;
    book_->advance(now, [&](std::uint32_t index) { out.push_back(index); });
    return out;
  }
  void answer(std::uint32_t index) {
    const std::int32_t id = 3;
    book_->take(std::span(&index, 1), &id, 0, {});
  }

  std::vector<Request> requests_;
  std::optional<RequestBook> book_;
};

TEST_F(RequestBookTest, WhoWaitsComesAfterItsThinkingTime) {
  make({asks(), asks(0, 100), asks(1)});
  EXPECT_THAT(come(0), ElementsAre(0));
  EXPECT_EQ(book_->next_event(), kNever);
  EXPECT_THAT(come(50), IsEmpty());
  answer(0);
  EXPECT_EQ(book_->next_event(), 0);  // its client learns of it with the next look
  EXPECT_THAT(come(60), IsEmpty());
  EXPECT_EQ(book_->next_event(), 160);
  EXPECT_THAT(come(159), IsEmpty());
  EXPECT_THAT(come(170), ElementsAre(1));
  EXPECT_EQ(book_->arrival(1), 160);
  EXPECT_EQ(book_->arrival(2), kNever);
  answer(1);
  EXPECT_THAT(come(180), ElementsAre(2));
  EXPECT_EQ(book_->arrival(2), 180);
}

TEST_F(RequestBookTest, AnyEndOfTheOtherCounts) {
  Request empty = asks();
  empty.prompt.clear();
  make({empty, asks(0, 5), asks(), asks(2, 5)});
  EXPECT_THAT(come(0), ElementsAre(2));  // and 0 was refused
  EXPECT_TRUE(book_->cancel(2));
  EXPECT_THAT(come(10), ElementsAre(1));
  EXPECT_THAT(come(15), ElementsAre(3));
}

TEST_F(RequestBookTest, ARefusedOneBetweenHoldsNobodyUp) {
  Request empty = asks(0, 5);
  empty.prompt.clear();
  make({asks(), empty, asks(1, 7)});
  EXPECT_THAT(come(0), ElementsAre(0));
  EXPECT_THAT(come(7), ElementsAre(2));
}

TEST_F(RequestBookTest, RanksAreByPriorityAndThenByArrival) {
  Request late = asks();
  late.arrival = 20;
  make({asks(), asks(0), late, asks({}, 0, 1), asks({}, 0, -1)});
  EXPECT_THAT(come(0), ElementsAre(0, 3, 4));
  answer(0);
  EXPECT_THAT(come(30), ElementsAre(2, 1));
  EXPECT_LT(book_->rank(3), book_->rank(0));
  EXPECT_LT(book_->rank(0), book_->rank(2));
  EXPECT_LT(book_->rank(2), book_->rank(1));
  EXPECT_LT(book_->rank(1), book_->rank(4));
}

TEST_F(RequestBookTest, WhoWaitsForItselfOrALaterOneOrAsTheSecondIsAnError) {
  EXPECT_THROW(make({asks(0)}), runtime::UsageError);
  EXPECT_THROW(make({asks(1), asks()}), runtime::UsageError);
  EXPECT_THROW(make({asks(), asks(0), asks(0)}), runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::batching
