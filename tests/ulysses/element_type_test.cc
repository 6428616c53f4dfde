// Conversions of half-width elements, against the values that the formats' definitions give to all
// 65,536 patterns.
#include "backend/ulysses/element_type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace syncopate::ulysses {
namespace {

struct Format {
  int mantissa_bits;
  int exponent_bits;
};
constexpr Format kFp16Format{10, 5}, kBf16Format{7, 8};

/// What a pattern stands for, by IEEE 754's formula.
double value_of(std::uint32_t bits, const Format& format) {
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  const auto mantissa = static_cast<double>(bits & ((1U << format.mantissa_bits) - 1));
  const auto exponent =
      static_cast<int>(bits >> format.mantissa_bits & ((1U << format.exponent_bits) - 1));
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double scale = std::ldexp(1.0, -format.mantissa_bits);
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa * scale, 1 - bias);
  return sign * std::ldexp(1 + mantissa * scale, exponent - bias);
}

template <class T>
void expect_all_patterns(const Format& format) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const T element{static_cast<std::uint16_t>(bits)};
    const double expected = value_of(bits, format);
    const float found = to_float(element);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << bits;
      EXPECT_TRUE(std::isnan(to_float(from_float<T>(found)))) << bits;
      continue;
    }
    EXPECT_EQ(found, expected) << bits;
    EXPECT_EQ(std::signbit(found), bits >> 15 != 0) << bits;
    EXPECT_EQ(from_float<T>(found).bits, bits);
  }
}

TEST(ElementTypeTest, EveryPatternIsItsValueAndComesBack) {
  expect_all_patterns<Fp16>(kFp16Format);
  expect_all_patterns<Bf16>(kBf16Format);
}

/// Between two neighbours: what is nearer, and at the middle the even one. Next to the middle there
/// are floats on both sides, since they have at least 13 bits more than fp16 and 16 than bf16.
template <class T>
void expect_nearest(const Format& format) {
  const std::uint32_t infinity = ((1U << format.exponent_bits) - 1) << format.mantissa_bits;
  for (const std::uint32_t sign : {0U, 0x8000U}) {
    for (std::uint32_t low = 0; low + 1 < infinity; ++low) {
      const double a = value_of(sign | low, format), b = value_of(sign | (low + 1), format);
      const auto middle = static_cast<float>((a + b) / 2);
      ASSERT_EQ(middle, (a + b) / 2);
      const std::uint32_t even = (low & 1U) == 0 ? low : low + 1;
      EXPECT_EQ(from_float<T>(middle).bits, sign | even) << low;
      EXPECT_EQ(from_float<T>(std::nextafter(middle, static_cast<float>(a))).bits, sign | low);
      EXPECT_EQ(from_float<T>(std::nextafter(middle, static_cast<float>(b))).bits,
                sign | (low + 1));
    }
  }
}

TEST(ElementTypeTest, FloatsBetweenRoundToTheNearestAndToEven) {
  expect_nearest<Fp16>(kFp16Format);
  expect_nearest<Bf16>(kBf16Format);
}

TEST(ElementTypeTest, WhatIsTooLargeBecomesInfinite) {
  // Half a place above the largest: a tie that goes to the even one, which would be the next power.
  EXPECT_EQ(from_float<Fp16>(65520.0F).bits, 0x7c00);
  EXPECT_EQ(from_float<Fp16>(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(from_float<Fp16>(-1e30F).bits, 0xfc00);
  EXPECT_EQ(from_float<Bf16>(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(from_float<Bf16>(-std::numeric_limits<float>::infinity()).bits, 0xff80);
}

}  // namespace
}  // namespace syncopate::ulysses
