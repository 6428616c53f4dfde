// The transformer on the device against libtorch's operators, and against itself.
#include "backend/models/llama/cuda/device_llama.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/device_runner.h"
#include "tests/llama_cuda/reference.h"

namespace syncopate::models::llama {
namespace {

class DeviceLlamaTest : public cuda::DeviceTest {};

LlamaConfig small() {
  LlamaConfig config;
  config.vocab = 500;
  config.hidden = 256;
  config.layers = 3;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 64;
  config.intermediate = 704;
  config.max_position = 1024;
  return config;
}

Ids random_ids(std::uint64_t seed, std::size_t count, std::uint32_t vocab) {
  std::mt19937_64 random(seed);
  Ids ids(count);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % vocab);
  return ids;
}

Ids part(const Ids& ids, std::size_t begin, std::size_t end) {
  return {ids.begin() + static_cast<std::ptrdiff_t>(begin),
          ids.begin() + static_cast<std::ptrdiff_t>(end)};
}

Pages pages_from(std::int32_t first, std::int32_t count) {
  Pages pages(static_cast<std::size_t>(count));
  std::iota(pages.begin(), pages.end(), first);
  std::reverse(pages.begin(), pages.end());  // not in order
  return pages;
}

/// Root of the mean square of a - b, as a share of b's.
double error(const std::vector<float>& a, const std::vector<float>& b) {
  double off = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    off += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    size += double{b[i]} * b[i];
  }
  return std::sqrt(off / size);
}

/// How far logits are from the same weights in fp32 must be no more than twice what libtorch's own
/// bf16 is off: both round as often, but not at the same places.
void expect_as_good_as_libtorch(const LlamaConfig& config, const Weights& weights, const Ids& ids,
                                const std::vector<std::pair<std::size_t, std::vector<float>>>& at) {
  const auto exact = reference_logits(config, weights, ids, Precision::kFp32);
  const auto rounded = reference_logits(config, weights, ids, Precision::kBf16);
  for (const auto& [position, logits] : at) {
    const double ours = error(logits, exact[position]);
    const double theirs = error(rounded[position], exact[position]);
    EXPECT_LT(ours, 2 * theirs + 1e-3) << "at position " << position;
    EXPECT_GT(theirs, 1e-4) << "the reference does not round: it says nothing";
  }
}

void expect_right_logits(const LlamaConfig& config, bool invariant) {
  const Weights weights = random_weights(config, 7);
  const auto model =
      make_device_llama(config, 7, {.rows = 4, .tokens = 200, .invariant = invariant});
  DeviceRunner runner(
      *model, {.rows = 4, .tokens = 200, .pages_per_row = 16, .page_tokens = 16, .pages = 64});
  const Ids a = random_ids(1, 150, config.vocab), b = random_ids(2, 60, config.vocab);
  const Pages pages_a = pages_from(0, 16), pages_b = pages_from(30, 16);
  // A whole prompt beside a chunk; then chunks of both; then decode steps beside a chunk.
  const Logits first = runner.step({{pages_a, 0, part(a, 0, 140)}, {pages_b, 0, part(b, 0, 17)}});
  const Logits second = runner.step({{pages_b, 17, part(b, 17, 40)}, {pages_a, 140, {a[140]}}});
  const Logits third = runner.step({{pages_a, 141, {a[141]}}, {pages_b, 40, {b[40]}}});
  expect_as_good_as_libtorch(config, weights, a,
                             {{139, first[0]}, {140, second[1]}, {141, third[0]}});
  expect_as_good_as_libtorch(config, weights, b, {{16, first[1]}, {39, second[0]}, {40, third[1]}});
}

TEST_F(DeviceLlamaTest, LogitsAreAsGoodAsLibtorchs) {
  for (const bool invariant : {false, true}) {
    SCOPED_TRACE("invariant " + std::to_string(invariant));
    expect_right_logits(small(), invariant);
  }
}

TEST_F(DeviceLlamaTest, LogitsAreRightWithHeadsOf128AndTiedEmbeddings) {
  LlamaConfig config = small();
  config.head_dim = 128;
  config.heads = 7;
  config.kv_heads = 1;
  config.tied_embeddings = true;
  config.rope_theta = 500000;
  config.rope_scaling = RopeScaling{};
  expect_right_logits(config, false);
}

TEST_F(DeviceLlamaTest, ALayerOfRealSizeIsRight) {
  LlamaConfig config;  // Llama 3.1 8B's, with fewer words
  config.vocab = 2000;
  config.hidden = 4096;
  config.layers = 1;
  config.heads = 32;
  config.kv_heads = 8;
  config.head_dim = 128;
  config.intermediate = 14336;
  expect_right_logits(config, false);
}

TEST_F(DeviceLlamaTest, WithoutABatchTheInvariantModeGivesTheSameBits) {
  const LlamaConfig config = small();
  const auto model = make_device_llama(config, 3, {.rows = 8, .tokens = 300, .invariant = true});
  const BatchLimits limits{
      .rows = 8, .tokens = 300, .pages_per_row = 16, .page_tokens = 8, .pages = 128};
  const Ids ids = random_ids(4, 100, config.vocab);
  const Pages pages = pages_from(3, 13);

  DeviceRunner alone(*model, limits);
  Logits by_position;
  for (std::size_t p = 0; p < ids.size(); ++p) {
    by_position.push_back(alone.step({{pages, static_cast<std::int32_t>(p), {ids[p]}}})[0]);
  }
  const auto expect_same = [&](const std::vector<float>& logits, std::size_t position) {
    EXPECT_EQ(std::memcmp(logits.data(), by_position[position].data(), logits.size() * 4), 0)
        << "at position " << position;
  };

  DeviceRunner whole(*model, limits);
  expect_same(whole.step({{pages, 0, ids}})[0], ids.size() - 1);

  std::mt19937_64 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    DeviceRunner runner(*model, limits);
    for (std::size_t done = 0; done < ids.size();) {
      const std::size_t count =
          std::min(ids.size() - done, random() % 3 ? std::size_t{1} : 1 + random() % 40);
      // Others around it, at pages and positions of their own.
      std::vector<RunnerRow> rows;
      const std::size_t place = random() % 4;
      for (std::size_t r = 0; r < 4; ++r) {
        if (r == place) {
          rows.push_back({pages, static_cast<std::int32_t>(done), part(ids, done, done + count)});
        } else {
          rows.push_back({pages_from(20 + 16 * static_cast<std::int32_t>(r), 16), 0,
                          random_ids(random(), 1 + random() % 60, config.vocab)});
        }
      }
      const Logits logits = runner.step(rows);
      done += count;
      expect_same(logits[place], done - 1);
    }
  }
}

TEST_F(DeviceLlamaTest, NextIdsAreTheLargestLogits) {
  const LlamaConfig config = small();
  const auto model = make_device_llama(config, 3, {.rows = 4, .tokens = 64, .invariant = true});
  const BatchLimits limits{
      .rows = 4, .tokens = 64, .pages_per_row = 4, .page_tokens = 16, .pages = 16};
  const std::vector<RunnerRow> rows{{{0, 1}, 0, random_ids(1, 20, config.vocab)},
                                    {{5}, 0, random_ids(2, 1, config.vocab)}};
  DeviceRunner runner(*model, limits);
  const Logits logits = runner.step(rows);
  const Ids ids = runner.next(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(ids[r], std::max_element(logits[r].begin(), logits[r].end()) - logits[r].begin());
  }
}

TEST_F(DeviceLlamaTest, AShapeWithoutAKernelIsRefusedByItsKey) {
  LlamaConfig config = small();
  config.head_dim = 32;
  EXPECT_THAT(device_lacks(config), testing::HasSubstr("head_dim"));
  EXPECT_EQ(device_lacks(small()), "");
}

}  // namespace
}  // namespace syncopate::models::llama
