#include "backend/models/llama/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace syncopate::models::llama {
namespace {

LlamaConfig shape(std::uint32_t head_dim, double theta) {
  LlamaConfig config;
  config.head_dim = head_dim;
  config.rope_theta = theta;
  return config;
}

TEST(Rope, FrequenciesFallByEqualFactors) {
  // theta = 10^4 over 8 dimensions: 10^(-4 * 2i / 8) = 10^-i.
  const std::vector<float> frequencies = rope_frequencies(shape(8, 1e4));
  ASSERT_EQ(frequencies.size(), 4u);
  EXPECT_FLOAT_EQ(frequencies[0], 1.0f);
  EXPECT_FLOAT_EQ(frequencies[1], 0.1f);
  EXPECT_FLOAT_EQ(frequencies[2], 0.01f);
  EXPECT_FLOAT_EQ(frequencies[3], 0.001f);
}

TEST(Rope, ScalingKeepsShortWavelengthsDividesLongOnesAndBlendsBetween) {
  // Wavelengths 2 pi * {1, 10, 100, 1000} = {6.283, 62.83, 628.3, 6283} against an original context
  // of 1000: shorter than 1000 / 4 = 250 is kept, longer than 1000 / 1 is divided by 8. At 628.3
  // the context is 1.591549 turns, so s = (1.591549 - 1) / 3 = 0.197183 and the frequency is 0.01 *
  // (0.197183 + 0.802817 / 8) = 0.00297535.
  LlamaConfig config = shape(8, 1e4);
  config.rope_scaling = RopeScaling{8.0, 1.0, 4.0, 1000};
  const std::vector<float> frequencies = rope_frequencies(config);
  EXPECT_FLOAT_EQ(frequencies[0], 1.0f);
  EXPECT_FLOAT_EQ(frequencies[1], 0.1f);
  EXPECT_NEAR(frequencies[2], 0.00297535f, 1e-8f);
  EXPECT_FLOAT_EQ(frequencies[3], 0.000125f);
}

TEST(Rope, AnglesAreFrequencyTimesPosition) {
  const float frequencies[] = {1.0f, 0.5f};
  float cosines[2], sines[2];
  rope_angles(frequencies, 3, cosines, sines);
  EXPECT_NEAR(cosines[0], -0.98999250f, 1e-6f);
  EXPECT_NEAR(sines[0], 0.14112001f, 1e-6f);
  EXPECT_NEAR(cosines[1], 0.07073720f, 1e-6f);
  EXPECT_NEAR(sines[1], 0.99749499f, 1e-6f);
}

}  // namespace
}  // namespace syncopate::models::llama
