#include "backend/models/llama/cuda/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "backend/cuda/graph.h"
#include "backend/cuda/stream.h"
#include "backend/runtime/error.h"
#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/attention_runner.h"

namespace syncopate::models::llama {
namespace {

using AttentionTest = cuda::DeviceTest;
/// (head_dim, tile)
class AttentionShapes
    : public AttentionTest,
      public testing::WithParamInterface<std::tuple<std::uint32_t, std::uint32_t>> {};

LlamaConfig config_of(std::uint32_t head_dim, std::uint32_t group) {
  LlamaConfig config;
  config.kv_heads = 2;
  config.heads = group * config.kv_heads;
  config.head_dim = head_dim;
  return config;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return at::equal(a.contiguous().view(at::kShort), b.contiguous().view(at::kShort));
}

/// The batch by libtorch, in fp32, and how far from that bf16 may lead: weights and the result are
/// rounded to 8 bits.
struct Expected {
  at::Tensor out, tolerance;
};

Expected expected(const LlamaConfig& config, const AttentionRow& row) {
  const std::int64_t length = row.start + row.tokens;
  const auto by_head = [&](const at::Tensor& values, std::int64_t begin) {
    const at::Tensor x = values.narrow(0, begin, length - begin).to(at::kFloat).transpose(0, 1);
    return x.repeat_interleave(config.heads / x.size(0), 0).unsqueeze(0);
  };
  const at::Tensor place = at::arange(length);
  const at::Tensor mask =
      place.unsqueeze(0).le(place.narrow(0, row.start, row.tokens).unsqueeze(1));
  const at::Tensor q = by_head(row.request->q, row.start);
  const at::Tensor k = by_head(row.request->k, 0);
  const at::Tensor v = by_head(row.request->v, 0);
  const auto attention = [&](const at::Tensor& values) {
    return at::scaled_dot_product_attention(q, k, values, mask).squeeze(0).transpose(0, 1);
  };
  return {attention(v), attention(v.abs()) / 128};
}

void expect_near(const LlamaConfig& config, const std::vector<AttentionRow>& rows,
                 const at::Tensor& out) {
  std::int64_t token = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const AttentionRow& row = rows[r];
    if (row.tokens == 0) continue;
    const Expected e = expected(config, row);
    const at::Tensor error = (out.narrow(0, token, row.tokens).to(at::kFloat) - e.out).abs();
    // NaN is near nothing.
    EXPECT_TRUE(error.le(e.tolerance).all().item<bool>())
        << "row " << r << ", tokens " << row.start << " and " << row.tokens
        << " more: the largest error is " << (error / e.tolerance).max().item<float>()
        << " of what is tolerated";
    token += row.tokens;
  }
}

/// Rows that decode, chunks and prefills from 1 to 3000 entries long, in any order, and one that
/// has no token.
std::vector<AttentionRow> ragged_batch(const LlamaConfig& config, std::uint64_t seed,
                                       std::deque<Request>& requests) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  std::vector<AttentionRow> rows = {
      {nullptr, 0, 1},
      {nullptr, 2999, 1},
      {nullptr, draw(1, 600), 1},
      {nullptr, draw(1, 600), draw(2, 100)},
      {nullptr, draw(1000, 2000), draw(2, 40)},
      {nullptr, 0, draw(2, 20)},
      {nullptr, 0, draw(100, 300)},
      {nullptr, draw(1, 600), 0},
  };
  for (AttentionRow& row : rows) {
    row.request = &requests.emplace_back(config, row.start + row.tokens, random());
  }
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

TEST_P(AttentionShapes, RaggedBatchesMatchLibtorch) {
  const auto [head_dim, tile] = GetParam();
  std::uint64_t seed = head_dim + tile;
  for (const std::uint32_t group : {1u, 4u, 7u, 8u}) {
    for (const std::uint32_t page_tokens : {1u, 16u, 24u}) {
      SCOPED_TRACE("group " + std::to_string(group) + ", pages of " + std::to_string(page_tokens) +
                   ", seed " + std::to_string(++seed));
      const LlamaConfig config = config_of(head_dim, group);
      std::deque<Request> requests;
      const auto rows = ragged_batch(config, seed, requests);
      expect_near(config, rows, attend(config, rows, page_tokens, tile, seed));
    }
  }
}

TEST_P(AttentionShapes, RowsDoNotDependOnTheirNeighbours) {
  const auto [head_dim, tile] = GetParam();
  for (const std::uint32_t group : {4u, 7u}) {
    const LlamaConfig config = config_of(head_dim, group);
    const std::uint64_t seed = group + tile;
    std::deque<Request> requests;
    const auto rows = ragged_batch(config, seed, requests);
    const at::Tensor together = attend(config, rows, 16, tile, seed);
    std::int64_t token = 0;
    for (const AttentionRow& row : rows) {
      if (row.tokens == 0) continue;
      const at::Tensor alone = attend(config, std::vector{row}, 16, tile, seed + 1);
      EXPECT_TRUE(same_bits(alone, together.narrow(0, token, row.tokens)))
          << "group " << group << ", tokens " << row.start << " and " << row.tokens << " more";
      token += row.tokens;
    }
  }
}

// Of tokens 290 to 330 of a request, at the borders of pages and of blocks of keys too.
// With the one tile that the invariant mode takes for both.
class AttentionHeads : public AttentionTest, public testing::WithParamInterface<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Dim, AttentionHeads, testing::Values(64U, 128U),
                         testing::PrintToStringParamName());

TEST_P(AttentionHeads, TokensOfAChunkAreThoseOfDecodingOneByOne) {
  constexpr std::uint32_t kTile = 16;
  const std::uint32_t head_dim = GetParam();
  constexpr std::uint32_t kStart = 290, kTokens = 40;
  for (const std::uint32_t group : {1u, 4u, 7u, 8u}) {
    SCOPED_TRACE("group " + std::to_string(group));
    const LlamaConfig config = config_of(head_dim, group);
    const Request request(config, kStart + kTokens, group), other(config, 900, group + 1);
    std::vector<at::Tensor> one_by_one;
    for (std::uint32_t i = 0; i < kTokens; ++i) {
      // Among others, at each place in turn.
      std::vector<AttentionRow> rows(4, {&other, 100 + 20 * i, 1});
      rows[i % 4] = {&request, kStart + i, 1};
      one_by_one.push_back(attend(config, rows, 16, kTile, i).narrow(0, i % 4, 1));
    }
    const at::Tensor decoded = at::cat(one_by_one);
    for (const std::uint32_t chunk : {3u, 16u, 40u}) {
      for (std::uint32_t i = 0; i + chunk <= kTokens; i += chunk) {
        const std::vector<AttentionRow> rows = {{&other, 0, 77}, {&request, kStart + i, chunk}};
        const at::Tensor out = attend(config, rows, 24, kTile, i).narrow(0, 77, chunk);
        EXPECT_TRUE(same_bits(out, decoded.narrow(0, i, chunk)))
            << chunk << " tokens from " << kStart + i;
      }
    }
  }
}

TEST_P(AttentionShapes, AGraphIsReplayedWithAnotherBatch) {
  const auto [head_dim, tile] = GetParam();
  const LlamaConfig config = config_of(head_dim, 4);
  std::deque<Request> requests;
  const auto first = ragged_batch(config, 1, requests), second = ragged_batch(config, 2, requests);
  const StepShape shape{.rows = 16, .tokens = 512, .tile = tile, .group = 4};
  AttentionRunner runner(config, shape, 16, 3000, 1);

  const cuda::OwnedStream stream = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  cuda::begin_capture(stream.get());
  runner.enqueue(stream.get());
  const auto graph = cuda::instantiate(cuda::end_capture(stream.get()), stream.get());
  for (const auto& rows : {first, second}) {
    runner.fill(rows);
    SYNCOPATE_CUDA_CALL(cudaGraphLaunch(graph.get(), stream.get()));
    EXPECT_TRUE(same_bits(runner.output(), attend(config, rows, 24, tile, 3)));
  }
}

INSTANTIATE_TEST_SUITE_P(, AttentionShapes,
                         testing::Combine(testing::Values(64u, 128u),
                                          testing::Values(16u, 64u, 128u)),
                         [](const auto& shape) {
                           return "HeadDim" + std::to_string(std::get<0>(shape.param)) + "Tile" +
                                  std::to_string(std::get<1>(shape.param));
                         });

TEST_F(AttentionTest, OtherTilesAreRefused) {
  const LlamaConfig config = config_of(64, 1);
  const Request request(config, 1, 1);
  EXPECT_THROW(attend(config, std::vector<AttentionRow>{{&request, 0, 1}}, 16, 32, 0),
               runtime::UsageError);
}

TEST(AttentionLacks, NamesTheKeyOfAShapeThatIsNotCompiled) {
  EXPECT_STREQ(attention_lacks(config_of(64, 1)), "");
  EXPECT_STREQ(attention_lacks(config_of(128, 7)), "");
  EXPECT_NE(std::string(attention_lacks(config_of(96, 1))).find("head_dim"), std::string::npos);
}

}  // namespace
}  // namespace syncopate::models::llama
