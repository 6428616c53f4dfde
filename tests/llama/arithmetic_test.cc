// The vector code against plain double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backend/models/llama/cpu/linear.h"
#include "backend/models/llama/cpu/pointwise.h"

namespace syncopate::models::llama {
namespace {

TEST(Linear, IsTheProductInBothModesForSizesThatFillNoVector) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> values(-1.0f, 1.0f);
  for (const std::uint32_t out : {1u, 15u, 16u, 37u}) {
    for (const std::uint32_t in : {1u, 8u, 29u}) {
      Matrix matrix(out, in);
      for (float& value : matrix.values) value = values(random);
      const Linear invariant(matrix, LinearMode::kInvariant), fast(matrix, LinearMode::kFast);
      for (std::uint32_t rows = 0; rows <= 9; ++rows) {
        std::vector<float> x(rows * in), y(rows * out + 1, 77.0f), z = y;
        for (float& value : x) value = values(random);
        invariant.apply(x.data(), rows, y.data());
        fast.apply(x.data(), rows, z.data());
        for (std::uint32_t r = 0; r < rows; ++r) {
          for (std::uint32_t o = 0; o < out; ++o) {
            double expected = 0.0;
            for (std::uint32_t k = 0; k < in; ++k)
              expected += double{x[r * in + k]} * matrix.row(o)[k];
            EXPECT_NEAR(y[r * out + o], expected, 1e-5);
            EXPECT_NEAR(z[r * out + o], expected, 1e-5);
          }
        }
        EXPECT_EQ(y.back(), 77.0f);  // Nothing is written past the end.
        EXPECT_EQ(z.back(), 77.0f);
      }
    }
  }
}

TEST(Pointwise, SwigluHoldsOverTheWholeRange) {
  std::vector<float> gate, up;
  for (int step = -270; step <= 270; ++step) {
    gate.push_back(0.37f * static_cast<float>(step));
    up.push_back(0.5f);
  }
  std::vector<float> out(gate.size());
  swiglu(gate.data(), up.data(), static_cast<std::uint32_t>(gate.size()), out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double expected = gate[i] / (1.0 + std::exp(-double{gate[i]})) * 0.5;
    EXPECT_NEAR(out[i], expected, std::abs(expected) * 1e-6 + 1e-35) << gate[i];
  }
}

TEST(Pointwise, RmsNormDividesByTheRootOfTheMeanSquare) {
  // Mean square 25 / 2, and a weight of 2 on the second: 3 / 3.5355, 2 * 4 / 3.5355.
  const float x[] = {3.0f, 4.0f}, weight[] = {1.0f, 2.0f};
  float out[2];
  rms_norm(x, weight, 2, 0.0f, out);
  EXPECT_NEAR(out[0], 0.84852814f, 1e-6f);
  EXPECT_NEAR(out[1], 2.26274170f, 1e-6f);
}

TEST(Pointwise, RotateTurnsEachPairHalfAHeadApart) {
  float head[] = {1.0f, 0.0f, 0.0f, 2.0f};
  const float cosines[] = {0.0f, 0.6f}, sines[] = {1.0f, 0.8f};
  rotate(head, 4, cosines, sines);
  EXPECT_FLOAT_EQ(head[0], 0.0f);  // (1, 0) by 90 degrees
  EXPECT_FLOAT_EQ(head[2], 1.0f);
  EXPECT_FLOAT_EQ(head[1], -1.6f);  // (0, 2) by 53.13 degrees
  EXPECT_FLOAT_EQ(head[3], 1.2f);
}

TEST(Pointwise, ArgmaxTakesTheLowestOfEqualsAndPassesOverNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {nan, 1.0f, 3.0f, nan, 3.0f};
  EXPECT_EQ(argmax(values, 5), 2);
  EXPECT_EQ(argmax(&nan, 1), 0);
}

}  // namespace
}  // namespace syncopate::models::llama
