#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "backend/models/llama/error.h"
#include "backend/models/llama/llama.h"
#include "tests/llama/paged_runner.h"

namespace syncopate::models::llama {
namespace {

LlamaConfig tiny() {
  LlamaConfig config;
  config.vocab = 40;
  config.hidden = 16;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 8;
  config.intermediate = 24;
  config.max_position = 32;
  return config;
}

TEST(LlamaModel, DescribesItself) {
  const auto model = make_llama(tiny(), 1);
  EXPECT_STREQ(model->kind(), "llama");
  EXPECT_EQ(model->vocab(), 40u);
  EXPECT_EQ(model->max_positions(), 32u);
  // 1 layer, key and value, 1 head, 4 tokens, 8 dimensions, 4 bytes.
  EXPECT_EQ(model->kv_page_bytes({2, 8, 4, 4, 8}), 256u);
  EXPECT_EQ(model->kv_entry_bytes(), 0u);
  EXPECT_EQ(model->graph_key(3, 5, 7), GraphKey{});
}

TEST(LlamaModel, RefusesAConfigurationThatIsNotValid) {
  LlamaConfig config = tiny();
  config.kv_heads = 0;
  EXPECT_THROW(make_llama(config, 1), ConfigError);
  EXPECT_THROW(load_llama("/nowhere"), ConfigError);
}

// With all weights of the layers at zero the residual is the embedding, and logits are its
// normalised product with the head: a forward pass that fits on paper.
TEST(LlamaModel, WithoutLayersIsEmbeddingNormAndHead) {
  LlamaConfig config = tiny();
  Weights weights = random_weights(config, 1);
  for (Matrix* matrix : {&weights.layers[0].attention_out, &weights.layers[0].down})
    std::fill(matrix->values.begin(), matrix->values.end(), 0.0f);
  const Weights copy = weights;
  const LlamaModel model(config, std::move(weights), {});
  PagedRunner runner(model, {1, 2, 1, 4, 1});
  const auto logits = runner.step({{{0}, 0, {3, 17}}})[0];
  double squares = 0.0;
  for (std::uint32_t i = 0; i < config.hidden; ++i)
    squares += double{copy.embedding.row(17)[i]} * copy.embedding.row(17)[i];
  const double scale = 1.0 / std::sqrt(squares / config.hidden + config.rms_eps);
  for (std::uint32_t v = 0; v < config.vocab; ++v) {
    double expected = 0.0;
    for (std::uint32_t i = 0; i < config.hidden; ++i)
      expected += copy.embedding.row(17)[i] * scale * copy.head.row(v)[i];
    EXPECT_NEAR(logits[v], expected, 1e-5);
  }
}

TEST(LlamaModel, SamplesTheLargestLogitAndTheLowestOfEqualOnes) {
  LlamaConfig config = tiny();
  Weights weights = random_weights(config, 1);
  // Every output is there twice, in v and v + 20.
  std::copy_n(weights.head.row(0), 20 * config.hidden, weights.head.row(20));
  const LlamaModel model(config, std::move(weights), {});
  PagedRunner runner(model, {2, 4, 1, 4, 2});
  const auto logits = runner.step({{{1}, 0, {1, 2, 3}}, {{0}, 0, {9}}});
  for (std::size_t r = 0; r < 2; ++r) {
    const auto largest = std::max_element(logits[r].begin(), logits[r].end());
    EXPECT_EQ(runner.next_ids()[r], largest - logits[r].begin());
    EXPECT_LT(runner.next_ids()[r], 20);
  }
}

TEST(LlamaModel, StaysInItsMemoryWhateverTheInputBlockHolds) {
  const auto model = make_llama(tiny(), 1);
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    PagedRunner runner(*model, {3, 9, 2, 4, 5});
    for (std::int32_t& word : runner.inputs())
      word = static_cast<std::int32_t>(seed % 2 == 0 ? random() : random() % 12);
    runner.run();
    for (const std::int32_t id : runner.next_ids()) {
      EXPECT_GE(id, -1) << "seed " << seed;
      EXPECT_LT(id, 40) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace syncopate::models::llama
