#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/random.h"

namespace syncopate::sim {
namespace {

TEST(EventQueue, TakesEventsInTheOrderOfTimeAndThenOfEntry) {
  EventQueue queue;
  queue.push(20, 1);
  queue.push(10, 9);
  queue.push(20, 0);
  queue.push(10, 3);
  std::vector<std::pair<runtime::Nanos, std::uint32_t>> taken;
  while (!queue.empty()) {
    taken.emplace_back(queue.top().time, queue.top().payload());
    queue.pop();
  }
  EXPECT_EQ(taken, (std::vector<std::pair<runtime::Nanos, std::uint32_t>>{
                       {10, 9}, {10, 3}, {20, 1}, {20, 0}}));
}

TEST(EventQueue, AnEventMayTakeThePlaceOfTheOneJustTaken) {
  EventQueue queue(1);
  queue.push(5, 1);
  queue.pop();
  EXPECT_TRUE(queue.empty());
  queue.push(3, 2);
  queue.push(4, 3);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.top().payload(), 2u);
  queue.pop();
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

// Against a sorted list, with few distinct times so that many are equal.
TEST(EventQueue, AgreesWithASortedListUnderRandomTraffic) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed, 0);
    EventQueue queue(1);
    std::vector<std::pair<runtime::Nanos, std::uint32_t>> expected;  // stable order of entry
    std::uint32_t next = 0;
    for (int i = 0; i < 2'000; ++i) {
      if (expected.empty() || random.next() % 5 < (i < 1'000 ? 3 : 2)) {
        const auto time = static_cast<runtime::Nanos>(random.next() % 32);
        queue.push(time, next);
        const auto place = std::upper_bound(
            expected.begin(), expected.end(), time,
            [](runtime::Nanos value, const auto& entry) { return value < entry.first; });
        expected.insert(place, {time, next++});
      } else {
        ASSERT_EQ(queue.top().time, expected.front().first);
        ASSERT_EQ(queue.top().payload(), expected.front().second);
        queue.pop();
        expected.erase(expected.begin());
      }
      ASSERT_EQ(queue.size(), expected.size());
    }
  }
}

}  // namespace
}  // namespace syncopate::sim
