// The integer arithmetic of sampling against the functions that it stands for.
#include "backend/models/hash/weight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace syncopate::models::hash {
namespace {

__extension__ using Wide = unsigned __int128;

TEST(PowerOfHalf, IsThePowerAndNeverRises) {
  std::uint32_t before = kFullWeight;
  for (std::uint64_t y = 0; y < 33 << 16; ++y) {
    const std::uint32_t power = power_of_half(y);
    ASSERT_LE(power, before) << y;
    before = power;
    if (y % 7 != 0) continue;
    const double exact = std::exp2(31 - static_cast<double>(y) / 65536);
    // Four factors and roundings of less than a unit each, then the shift's.
    const double slack = std::exp2(3 - static_cast<double>(y >> 16)) + 1;
    ASSERT_NEAR(power, exact, slack) << y;
  }
  EXPECT_EQ(power_of_half(0), kFullWeight);
  EXPECT_EQ(power_of_half(1 << 16), kFullWeight / 2);
  EXPECT_EQ(power_of_half(31 << 16), 1U);
  EXPECT_EQ(power_of_half(32 << 16), 0U);
  EXPECT_EQ(power_of_half(UINT64_MAX), 0U);
}

TEST(Weight, IsTheExponentialOfTheDistanceOverTheTemperature) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100'000; ++round) {
    const auto temperature =
        static_cast<std::uint32_t>(1 + random() % (RowSampling::kMaxTemperature >> random() % 23));
    const std::uint64_t distance = random() % (furthest(temperature) + 1) >> random() % 20;
    const double x = std::ldexp(static_cast<double>(distance), -28) / std::ldexp(temperature, -16);
    // The exponent is rounded down to 1/65536 of a power of 2.
    const double exact = std::ldexp(std::exp(-x), 31);
    ASSERT_NEAR(weight(distance, temperature), exact, exact * 1.2e-5 + 2)
        << distance << " at " << temperature;
  }
}

TEST(Weight, IsZeroWhereDistancesEnd) {
  for (const std::uint32_t temperature : {1U, 65536U, RowSampling::kMaxTemperature}) {
    EXPECT_EQ(weight(furthest(temperature), temperature), 0U);
    EXPECT_LT(furthest(temperature), std::uint64_t{1} << 40);
  }
}

TEST(Penalised, DividesWhatIsPositiveAndMultipliesTheRest) {
  constexpr std::uint32_t kTwo = 2 << 16, kHalf = 1 << 15;
  EXPECT_EQ(penalised(1000, kTwo), 500);
  EXPECT_EQ(penalised(-1000, kTwo), -2000);
  EXPECT_EQ(penalised(0, kTwo), 0);
  EXPECT_EQ(penalised(1000, kHalf), 2000);
  EXPECT_EQ(penalised(-1000, kHalf), -500);
  EXPECT_EQ(penalised(7, kTwo), 3);  // towards zero
  EXPECT_EQ(penalised(-7, kHalf), -3);
  EXPECT_EQ(penalised(score(UINT32_MAX), 1), (std::int64_t{1} << 47) - 65536);
  EXPECT_EQ(penalised(score(0), RowSampling::kMaxPenalty), -100 * (std::int64_t{1} << 31));
}

TEST(Scaled, IsTheHighHalfOfTheProduct) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100'000; ++round) {
    const std::uint64_t x = random() >> random() % 64, fraction = random() | -(random() % 2);
    ASSERT_EQ(scaled(x, fraction), static_cast<std::uint64_t>(Wide{x} * fraction >> 64));
  }
}

TEST(ShareOf, IsTheShareRoundedUp) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100'000; ++round) {
    const std::uint64_t total = random() >> (8 + random() % 56);
    const auto share = static_cast<std::uint32_t>(1 + random() % 65536);
    ASSERT_EQ(share_of(total, share),
              static_cast<std::uint64_t>((Wide{total} * share + 65535) >> 16));
  }
}

}  // namespace
}  // namespace syncopate::models::hash
