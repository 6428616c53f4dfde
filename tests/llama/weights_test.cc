#include "backend/models/llama/weights.h"

#include <gtest/gtest.h>

#include <cmath>

namespace syncopate::models::llama {
namespace {

LlamaConfig tiny() {
  LlamaConfig config;
  config.vocab = 50;
  config.hidden = 48;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.intermediate = 40;
  return config;
}

TEST(RandomWeights, DependOnTheSeedAlone) {
  const Weights a = random_weights(tiny(), 1), b = random_weights(tiny(), 1);
  const Weights other = random_weights(tiny(), 2);
  EXPECT_EQ(a.layers[1].down.values, b.layers[1].down.values);
  EXPECT_NE(a.layers[1].down.values, other.layers[1].down.values);
  EXPECT_NE(a.layers[0].down.values, a.layers[1].down.values);
}

TEST(RandomWeights, KeepTheSizeOfActivations) {
  const Weights weights = random_weights(tiny(), 1);
  const Matrix& gate_up = weights.layers[0].gate_up;
  double squares = 0.0, total = 0.0;
  for (const float value : gate_up.values) {
    total += value;
    squares += double{value} * value;
  }
  const auto count = static_cast<double>(gate_up.values.size());
  EXPECT_NEAR(squares / count * gate_up.in, 1.0, 0.05);  // 3840 values: 4 standard errors
  EXPECT_NEAR(total / count * std::sqrt(gate_up.in), 0.0, 0.065);
}

TEST(RandomWeights, HaveNoHeadOfTheirOwnWhenEmbeddingsAreTied) {
  LlamaConfig config = tiny();
  EXPECT_EQ(random_weights(config, 1).head.values.size(), 50u * 48u);
  config.tied_embeddings = true;
  EXPECT_TRUE(random_weights(config, 1).head.values.empty());
}

}  // namespace
}  // namespace syncopate::models::llama
