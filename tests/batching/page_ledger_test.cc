#include "backend/batching/page_ledger.h"

#include <gtest/gtest.h>

#include <set>

#include "backend/runtime/error.h"

namespace syncopate::batching {
namespace {

TEST(PageLedgerTest, HandsOutEveryPageOnce) {
  PageLedger ledger(5);
  std::set<std::uint32_t> pages;
  for (int i = 0; i < 5; ++i) pages.insert(ledger.take(7));
  EXPECT_EQ(pages.size(), 5U);
  EXPECT_EQ(ledger.free_pages(), 0U);
  EXPECT_EQ(ledger.owner(*pages.begin()), 7U);
}

TEST(PageLedgerTest, AnEmptyPoolIsAnError) {
  PageLedger ledger(1);
  ledger.take(0);
  EXPECT_THROW(ledger.take(1), runtime::UsageError);
}

TEST(PageLedgerTest, ARetiredPageIsFreeOnlyOnceItsLastStepIsDone) {
  PageLedger ledger(1);
  const std::int32_t pages[] = {static_cast<std::int32_t>(ledger.take(3))};
  ledger.retire(3, pages, /*last_step=*/5);
  EXPECT_EQ(ledger.free_pages(), 0U);
  EXPECT_EQ(ledger.complete(4), 0U);
  EXPECT_THROW(ledger.take(4), runtime::UsageError);
  EXPECT_EQ(ledger.complete(5), 1U);
  EXPECT_EQ(ledger.take(4), 0U);
}

TEST(PageLedgerTest, APageWhoseLastStepIsAlreadyDoneIsFreeAtOnce) {
  PageLedger ledger(1);
  const std::int32_t pages[] = {static_cast<std::int32_t>(ledger.take(3))};
  ledger.complete(5);
  ledger.retire(3, pages, 5);
  EXPECT_EQ(ledger.free_pages(), 1U);
}

TEST(PageLedgerTest, GivingBackTwiceIsAnError) {
  PageLedger ledger(2);
  const std::int32_t pages[] = {static_cast<std::int32_t>(ledger.take(3))};
  ledger.retire(3, pages, 0);
  EXPECT_THROW(ledger.retire(3, pages, 0), runtime::UsageError);
}

TEST(PageLedgerTest, GivingBackAnothersPageIsAnError) {
  PageLedger ledger(2);
  const std::int32_t pages[] = {static_cast<std::int32_t>(ledger.take(3))};
  EXPECT_THROW(ledger.retire(4, pages, 0), runtime::UsageError);
  const std::int32_t outside[] = {9};
  EXPECT_THROW(ledger.retire(3, outside, 0), runtime::UsageError);
}

TEST(PageLedgerTest, TheRingOfRetiredPagesWraps) {
  PageLedger ledger(3);
  for (std::int32_t step = 0; step < 20; ++step) {
    const std::int32_t pages[] = {static_cast<std::int32_t>(ledger.take(0)),
                                  static_cast<std::int32_t>(ledger.take(0))};
    ledger.retire(0, pages, step);
    EXPECT_EQ(ledger.complete(step), 2U);
    EXPECT_EQ(ledger.free_pages(), 3U);
  }
}

}  // namespace
}  // namespace syncopate::batching
