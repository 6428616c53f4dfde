#include "backend/models/llama/cuda/fastdiv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace flashinfer {
namespace {

using Random = std::independent_bits_engine<std::mt19937_64, 32, std::uint32_t>;

void expect_exact(std::uint32_t n, std::uint32_t d, const uint_fastdiv& divisor) {
  std::uint32_t quotient, remainder;
  divisor.divmod(n, quotient, remainder);
  if (quotient == n / d && remainder == n % d && n / divisor == quotient &&
      n % divisor == remainder)
    return;
  ADD_FAILURE() << n << " / " << d << " gave " << quotient << " and " << remainder << " left";
}

/// At each multiple of d that is near, and at both ends.
void expect_exact_around(std::uint32_t n, std::uint32_t d, const uint_fastdiv& divisor) {
  const std::uint32_t multiple = n - n % d;
  for (const std::uint32_t m : {n, multiple, multiple - 1, 0u, UINT32_MAX}) {
    expect_exact(m, d, divisor);
  }
}

TEST(Fastdiv, IsExactForSmallDivisors) {
  Random random(1);
  for (std::uint32_t d = 1; d <= 1000; ++d) {
    const uint_fastdiv divisor(d);
    EXPECT_EQ(divisor, d);
    for (std::uint32_t n = 0; n < 1000; ++n) expect_exact(n, d, divisor);
    for (int i = 0; i < 1000; ++i) expect_exact_around(random(), d, divisor);
  }
}

TEST(Fastdiv, IsExactForAnyDivisor) {
  Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t d = std::max(random() >> random() % 32, 1u);
    const uint_fastdiv divisor(d);
    for (int j = 0; j < 10; ++j) expect_exact_around(random(), d, divisor);
  }
}

TEST(Fastdiv, IsExactBesidePowersOfTwo) {
  Random random(3);
  for (int bit = 1; bit < 32; ++bit) {
    const std::uint32_t power = 1u << bit;
    for (const std::uint32_t d : {power - 1, power, power + 1}) {
      for (int i = 0; i < 10'000; ++i) expect_exact_around(random(), d, uint_fastdiv(d));
    }
  }
}

TEST(Fastdiv, DividesByOneWhenNothingIsSaid) { EXPECT_EQ(UINT32_MAX / uint_fastdiv(), UINT32_MAX); }

}  // namespace
}  // namespace flashinfer
