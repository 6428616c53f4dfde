// Attention on the host against the textbook's formula in double precision.
#include "backend/ulysses/host_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/ulysses/error.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

/// softmax(q k^T / sqrt(d)) v of one query, with the scores of all keys kept.
std::vector<double> textbook(const std::vector<double>& q,
                             const std::vector<std::vector<double>>& k,
                             const std::vector<std::vector<double>>& v) {
  std::vector<double> weights;
  double sum = 0;
  for (const auto& key : k) {
    double dot = 0;
    for (std::size_t d = 0; d < q.size(); ++d) dot += q[d] * key[d];
    weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(q.size()))));
    sum += weights.back();
  }
  std::vector<double> out(q.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t d = 0; d < q.size(); ++d) out[d] += weights[i] / sum * v[i][d];
  }
  return out;
}

void expect_textbook(const LayoutOptions& options, bool causal) {
  Passes passes{options, {.causal = causal}, 1};
  const Outputs found = expected_outputs(passes);
  const std::uint32_t tokens = options.tokens[0];
  const auto vector = [&](Tensor tensor, std::uint32_t heads, std::uint32_t b, std::uint32_t t,
                          std::uint32_t h) {
    std::vector<double> out;
    for (std::uint32_t d = 0; d < options.head_dim; ++d) {
      const std::uint64_t element =
          ((std::uint64_t{b} * tokens + t) * heads + h) * options.head_dim + d;
      out.push_back(input_value(tensor, 0, element));
    }
    return out;
  };
  std::size_t at = 0;
  for (std::uint32_t b = 0; b < options.batch; ++b) {
    for (std::uint32_t t = 0; t < tokens; ++t) {
      for (std::uint32_t h = 0; h < options.heads; ++h) {
        std::vector<std::vector<double>> k, v;
        for (std::uint32_t key = 0; key < (causal ? t + 1 : tokens); ++key) {
          const std::uint32_t kv_head = h * options.kv_heads / options.heads;
          k.push_back(vector(Tensor::kK, options.kv_heads, b, key, kv_head));
          v.push_back(vector(Tensor::kV, options.kv_heads, b, key, kv_head));
        }
        for (const double value : textbook(vector(Tensor::kQ, options.heads, b, t, h), k, v)) {
          ASSERT_NEAR(found[0][at++], value, 1e-5);
        }
      }
    }
  }
  ASSERT_EQ(at, found[0].size());
}

TEST(HostAttentionTest, IsTheTextbooks) {
  for (const bool causal : {false, true}) {
    expect_textbook({2, {9}, 3, 3, 5, 4, {3}}, causal);
    expect_textbook({1, {12}, 4, 2, 8, 4, {4}}, causal);
    expect_textbook({1, {7}, 4, 1, 4, 4, {4}}, causal);
    expect_textbook({1, {1}, 1, 1, 1, 4, {1}}, causal);
  }
}

TEST(HostAttentionTest, TakesElementsOfFourBytesOnly) {
  AttentionBand band;
  band.element_bytes = 2;
  EXPECT_THROW(HostAttention().check(band), UlyssesError);
}

TEST(HostAttentionTest, CostCountsHeadsQueriesKeysAndPairs) {
  const HeadChunkLayout layout({2, {3, 5}, 8, 4, 16, 4, {1, 3}});
  const runtime::Cost dense = attention_cost(attention_band(layout, 0, 1, /*causal=*/false));
  EXPECT_EQ(dense.rows, 2U * 3);           // a batch of 2, a band of 3 heads
  EXPECT_EQ(dense.tokens, 2U * 3 * 8);     // of 8 tokens each
  EXPECT_EQ(dense.kv_tokens, 2U * 2 * 8);  // heads 1..3 read K/V heads 0 and 1
  EXPECT_EQ(dense.attention_pairs, 2U * 3 * 64);
  const runtime::Cost causal = attention_cost(attention_band(layout, 0, 1, /*causal=*/true));
  EXPECT_EQ(causal.attention_pairs, 2U * 3 * 36);
}

}  // namespace
}  // namespace syncopate::ulysses
