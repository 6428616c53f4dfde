// Accesses that are rows with gaps: what they share with others, against bytes marked one by one.
#include "backend/runtime/memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace syncopate::runtime {
namespace {

constexpr Buffer kBuffer{0};

std::vector<bool> bytes_of(const Access& access) {
  std::vector<bool> touched(256);
  const std::uint64_t all = access.end - access.begin;
  const std::uint64_t width = access.width == 0 ? all : access.width;
  const std::uint64_t pitch = access.width == 0 ? all + 1 : access.pitch;
  for (std::uint64_t row = access.begin; row < access.end; row += pitch) {
    for (std::uint64_t i = 0; i < width; ++i) touched[row + i] = true;
  }
  return touched;
}

TEST(MemoryTest, ARegionIsAnAccessOfItsRows) {
  const Access rows = access_of({kBuffer, 10, 4, 3, 8}, /*write=*/true);
  EXPECT_EQ(rows.begin, 10U);
  EXPECT_EQ(rows.end, 30U);  // two pitches and a width
  EXPECT_EQ(rows.pitch, 8U);
  EXPECT_EQ(rows.width, 4U);
  EXPECT_TRUE(rows.write);
  EXPECT_EQ(access_of({kBuffer, 10, 4, 3, 4}, false).width, 0U) << "no gaps";
  EXPECT_EQ(access_of({kBuffer, 10, 4, 1, 9}, false).width, 0U) << "one row";
  EXPECT_EQ(access_of({kBuffer, 10, 4, 0, 9}, false).end, 10U) << "no rows";
}

TEST(MemoryTest, APitchThatIsTooLargeLeavesTheRangeAroundTheRows) {
  const Access rows = access_of({kBuffer, 0, 4, 2, std::uint64_t{1} << 33}, false);
  EXPECT_EQ(rows.width, 0U);
  EXPECT_EQ(rows.end, (std::uint64_t{1} << 33) + 4);
}

TEST(MemoryTest, ColumnsOfOneTensorDoNotOverlap) {
  const Access left = access_of({kBuffer, 0, 8, 10, 16}, true);
  const Access right = access_of({kBuffer, 8, 8, 10, 16}, true);
  EXPECT_FALSE(overlap(left, right));
  EXPECT_TRUE(overlap(left, access_of({kBuffer, 7, 8, 10, 16}, true)));
}

TEST(MemoryTest, OtherBuffersDoNotOverlap) {
  EXPECT_FALSE(overlap(read(Buffer{0}, 0, 8), write(Buffer{1}, 0, 8)));
}

TEST(MemoryTest, TheFirstSharedBytesAreThoseThatAMapOfBytesShows) {
  std::mt19937 random(7);
  const auto draw = [&random](std::uint64_t most) { return random() % (most + 1); };
  const auto draw_access = [&](std::uint64_t pitch) {
    const std::uint64_t width = draw(pitch);
    return access_of({kBuffer, draw(40), width, draw(6), pitch}, false);
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t pitch = 1 + draw(11);
    const Access a = draw_access(pitch);
    const Access b = draw_access(draw(1) == 0 ? pitch : 1 + draw(11));
    const std::vector<bool> in_a = bytes_of(a), in_b = bytes_of(b);
    std::uint64_t first = 0;
    while (first < 256 && !(in_a[first] && in_b[first])) ++first;
    std::uint64_t last = first;
    while (last < 256 && in_a[last] && in_b[last]) ++last;
    const auto found = overlap(a, b);
    ASSERT_EQ(found.has_value(), first < 256) << "draw " << i;
    if (!found) continue;
    ASSERT_EQ(found->begin, first) << "draw " << i;
    ASSERT_LE(found->end, last) << "draw " << i;  // rows without gaps may follow each other
    ASSERT_GT(found->end, first) << "draw " << i;
  }
}

}  // namespace
}  // namespace syncopate::runtime
