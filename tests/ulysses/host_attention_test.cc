// Attention on the host against the textbook's formula in double precision.
#include "backend/ulysses/host_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

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
    expect_textbook({2, {9}, 3, 3, 5, ElementType::kFp32, {3}}, causal);
    expect_textbook({1, {12}, 4, 2, 8, ElementType::kFp32, {4}}, causal);
    expect_textbook({1, {7}, 4, 1, 4, ElementType::kFp32, {4}}, causal);
    expect_textbook({1, {1}, 1, 1, 1, ElementType::kFp32, {1}}, causal);
  }
}

/// One band of GQA that begins inside a group, in elements of `T`, against the textbook's formula
/// over the same rounded inputs.
template <class T>
void expect_rounded(ElementType type, double tolerance) {
  AttentionBand band;
  band.batch = 1;
  band.tokens = 9;
  band.query_heads = 3;
  band.kv_heads = 2;
  band.head_dim = 8;
  band.type = type;
  band.group = 2;
  band.lead = 1;  // heads read K/V heads 0, 1, 1
  band.k = std::uint64_t{3} * 9 * 8 * sizeof(T);
  band.v = band.k + std::uint64_t{2} * 9 * 8 * sizeof(T);
  std::vector<T> inputs(std::size_t{(3 + 2 + 2) * 9 * 8}), output(std::size_t{3 * 9 * 8});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = from_float<T>(3 * input_value(Tensor::kQ, 7, i));
  }
  std::byte* bases[] = {reinterpret_cast<std::byte*>(inputs.data()),
                        reinterpret_cast<std::byte*>(output.data())};
  runtime::Exec exec(bases, nullptr);
  HostAttention().kernel(band, {runtime::Buffer{0}, 0, runtime::Buffer{1}}).host(exec);

  const auto row = [&](std::size_t first, std::size_t heads, std::size_t t, std::size_t head) {
    std::vector<double> out;
    for (std::size_t d = 0; d < 8; ++d) {
      out.push_back(to_float(inputs[first + (t * heads + head) * 8 + d]));
    }
    return out;
  };
  for (std::size_t t = 0; t < 9; ++t) {
    for (std::size_t head = 0; head < 3; ++head) {
      std::vector<std::vector<double>> k, v;
      for (std::size_t key = 0; key < 9; ++key) {
        k.push_back(row(std::size_t{3} * 9 * 8, 2, key, head == 0 ? 0 : 1));
        v.push_back(row(std::size_t{5} * 9 * 8, 2, key, head == 0 ? 0 : 1));
      }
      const std::vector<double> expected = textbook(row(0, 3, t, head), k, v);
      for (std::size_t d = 0; d < 8; ++d) {
        EXPECT_NEAR(to_float(output[(t * 3 + head) * 8 + d]), expected[d],
                    tolerance * (1 + std::abs(expected[d])));
      }
    }
  }
}

TEST(HostAttentionTest, TakesAllElementTypes) {
  expect_rounded<float>(ElementType::kFp32, 1e-6);
  expect_rounded<Fp16>(ElementType::kFp16, 0x1p-11);  // half a place: the output's rounding alone
  expect_rounded<Bf16>(ElementType::kBf16, 0x1p-8);
}

TEST(HostAttentionTest, CostCountsHeadsQueriesKeysAndPairs) {
  const HeadChunkLayout layout({2, {3, 5}, 8, 4, 16, ElementType::kFp32, {1, 3}});
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
