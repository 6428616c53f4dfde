#include "backend/cpu/counter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace syncopate::cpu {
namespace {

TEST(Counter, StartsAtZeroWhichIsReached) {
  Counter counter;
  EXPECT_TRUE(counter.reached(0));
  EXPECT_FALSE(counter.reached(1));
}

TEST(Counter, NeverFalls) {
  Counter counter;
  counter.raise(7);
  counter.raise(3);
  EXPECT_EQ(counter.peek(), 7u);
}

TEST(Counter, HoldsItsLargestValue) {
  Counter counter;
  counter.raise(Counter::kLimit - 1);
  EXPECT_TRUE(counter.reached(Counter::kLimit - 1));
}

TEST(Counter, SleepEndsWithoutARaise) {
  Counter counter;
  counter.sleep_below(1, std::chrono::milliseconds(1));
  EXPECT_FALSE(counter.reached(1));
}

// Every wake-up matters here: a lost one would cost an hour.
TEST(Counter, WakesEverySleeperEveryTime) {
  constexpr std::uint64_t kRounds = 2000;
  constexpr int kSleepers = 3;
  Counter ball;
  Counter back[kSleepers];
  const auto wait = [](Counter& counter, std::uint64_t value) {
    while (!counter.reached(value)) counter.sleep_below(value, std::chrono::hours(1));
  };
  std::vector<std::thread> sleepers;
  for (Counter& counter : back) {
    sleepers.emplace_back([&] {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        wait(ball, round);
        counter.raise(round);
      }
    });
  }
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    ball.raise(round);
    for (Counter& counter : back) wait(counter, round);
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(ball.peek(), kRounds);
}

TEST(Counter, OrdersWhatCameBeforeTheRaise) {
  Counter counter;
  int data = 0;
  std::thread writer([&] {
    data = 42;
    counter.raise(1);
  });
  while (!counter.reached(1)) counter.sleep_below(1, std::chrono::hours(1));
  EXPECT_EQ(data, 42);
  writer.join();
}

}  // namespace
}  // namespace syncopate::cpu
