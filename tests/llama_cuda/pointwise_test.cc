// What a step does between its linear layers, against plain loops in doubles.
#include "backend/models/llama/cuda/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend/models/llama/rope.h"
#include "backend/runtime/error.h"
#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/device_array.h"

namespace syncopate::models::llama {
namespace {

using Ints = std::vector<std::int32_t>;

double real(Bf16 value) { return __bfloat162float(value); }

// bf16 keeps 8 bits, so the nearest is within 2^-8 of a number; what comes before is fp32, whose
// error is some 2^-20 of the largest term that goes into it.
void expect_near(const std::vector<Bf16>& actual, const std::vector<double>& expected,
                 const std::vector<double>& largest_term) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double tolerance = std::abs(expected[i]) * 0x1.01p-8 + largest_term[i] * 0x1p-20;
    ASSERT_NEAR(real(actual[i]), expected[i], tolerance) << "element " << i;
  }
}
void expect_near(const std::vector<Bf16>& actual, const std::vector<double>& expected) {
  expect_near(actual, expected, expected);
}

bool same_bits(const Bf16* a, const Bf16* b, std::size_t size) {
  return std::memcmp(a, b, size * sizeof(Bf16)) == 0;
}

std::vector<double> rms_norm(const std::vector<Bf16>& x, const std::vector<Bf16>& weight,
                             double eps) {
  const std::size_t hidden = weight.size();
  std::vector<double> out(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += hidden) {
    double squares = 0;
    for (std::size_t i = 0; i < hidden; ++i) squares += real(x[begin + i]) * real(x[begin + i]);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(hidden) + eps);
    for (std::size_t i = 0; i < hidden; ++i) {
      out[begin + i] = real(x[begin + i]) * scale * real(weight[i]);
    }
  }
  return out;
}

// The sum of two bf16 in fp32, rounded: the same on every machine.
std::vector<Bf16> sum(const std::vector<Bf16>& a, const std::vector<Bf16>& b) {
  std::vector<Bf16> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    out[i] = __float2bfloat16(__bfloat162float(a[i]) + __bfloat162float(b[i]));
  }
  return out;
}

constexpr float kEps = 1e-5f;

class NormTest : public cuda::DeviceTest, public testing::WithParamInterface<std::uint32_t> {};
// One vector, one warp and less, whole blocks, two vectors a thread of which some lack the second.
INSTANTIATE_TEST_SUITE_P(Hidden, NormTest,
                         testing::Values(8, 256, 264, 4096, 8192, 8200, 12288, 16384),
                         testing::PrintToStringParamName());

TEST_P(NormTest, EmbedsAndNormalises) {
  const std::uint32_t hidden = GetParam();
  const Ints ids = {3, 0, 4, 3};
  const std::vector<Bf16> table = random_bf16(5 * hidden, 1, 0.02f);
  const std::vector<Bf16> weight = random_bf16(hidden, 2);
  const DeviceArray<std::int32_t> plan_ids(ids);
  const DeviceArray<Bf16> embedding(table), weights(weight), residual(4 * hidden),
      normed(4 * hidden);
  StepPlan plan{};
  plan.id = plan_ids.data();
  enqueue_embed(nullptr, 4, plan, {embedding.data(), 5, hidden}, {weights.data(), kEps},
                residual.data(), normed.data());
  std::vector<Bf16> rows;
  for (const std::int32_t id : ids) {
    rows.insert(rows.end(), table.begin() + id * static_cast<std::int32_t>(hidden),
                table.begin() + (id + 1) * static_cast<std::int32_t>(hidden));
  }
  EXPECT_TRUE(same_bits(residual.read().data(), rows.data(), rows.size()));
  expect_near(normed.read(), rms_norm(rows, weight, kEps));
}

TEST_P(NormTest, AddsAndNormalises) {
  const std::uint32_t hidden = GetParam();
  const std::vector<Bf16> x = random_bf16(3 * hidden, 3), before = random_bf16(3 * hidden, 4, 9);
  const std::vector<Bf16> weight = random_bf16(hidden, 5);
  const DeviceArray<Bf16> added(x), residual(before), weights(weight), normed(3 * hidden);
  enqueue_add_norm(nullptr, 3, hidden, added.data(), {weights.data(), kEps}, residual.data(),
                   normed.data());
  const std::vector<Bf16> after = sum(before, x);
  EXPECT_TRUE(same_bits(residual.read().data(), after.data(), after.size()));
  expect_near(normed.read(), rms_norm(after, weight, kEps));
}

TEST_P(NormTest, TakesTheLastTokensAsItTakesTheOthers) {
  const std::uint32_t hidden = GetParam();
  const std::vector<Bf16> x = random_bf16(6 * hidden, 6), before = random_bf16(6 * hidden, 7);
  const Ints last = {1, 5, 0};
  const DeviceArray<std::int32_t> last_token(last);
  const DeviceArray<Bf16> added(x), residual(before), weights(random_bf16(hidden, 8)),
      of_last(3 * hidden), of_all(6 * hidden);
  const NormWeights norm = {weights.data(), kEps};
  StepPlan plan{};
  plan.last_token = last_token.data();
  enqueue_last_norm(nullptr, 3, hidden, plan, added.data(), residual.data(), norm, of_last.data());
  EXPECT_TRUE(same_bits(residual.read().data(), before.data(), before.size()));
  enqueue_add_norm(nullptr, 6, hidden, added.data(), norm, residual.data(), of_all.data());
  const std::vector<Bf16> some = of_last.read(), all = of_all.read();
  for (std::size_t row = 0; row < last.size(); ++row) {
    EXPECT_TRUE(
        same_bits(&some[row * hidden], &all[static_cast<std::size_t>(last[row]) * hidden], hidden));
  }
}

TEST_P(NormTest, ATokensBitsAreTheSameAloneAndInAnyPlace) {
  const std::uint32_t hidden = GetParam();
  constexpr std::size_t kTokens = 37;
  std::vector<Bf16> x = random_bf16(kTokens * hidden, 9), before = random_bf16(x.size(), 10);
  const auto repeat = [hidden](std::vector<Bf16>& values, std::size_t token) {
    std::copy_n(values.begin(), hidden,
                values.begin() + static_cast<std::ptrdiff_t>(token * hidden));
  };
  for (const std::size_t token : {std::size_t{17}, kTokens - 1}) {
    repeat(x, token);
    repeat(before, token);
  }
  const DeviceArray<Bf16> added(x), weights(random_bf16(hidden, 11));
  const auto normed = [&](std::uint32_t tokens) {
    const DeviceArray<Bf16> residual(before), out(tokens * hidden);
    enqueue_add_norm(nullptr, tokens, hidden, added.data(), {weights.data(), kEps}, residual.data(),
                     out.data());
    return out.read();
  };
  const std::vector<Bf16> all = normed(kTokens), alone = normed(1);
  for (const std::size_t token : {std::size_t{0}, std::size_t{17}, kTokens - 1}) {
    EXPECT_TRUE(same_bits(&all[token * hidden], alone.data(), hidden)) << token;
  }
}

class PointwiseTest : public cuda::DeviceTest {};

TEST_F(PointwiseTest, TheNormRefusesSizesThatItCannotTake) {
  for (const std::uint32_t hidden : {12U, 16392U}) {
    EXPECT_THROW(enqueue_add_norm(nullptr, 1, hidden, nullptr, {nullptr, kEps}, nullptr, nullptr),
                 runtime::UsageError);
  }
}

// One layer's rotation and its writes to the pool.
struct Rotated {
  std::vector<Bf16> qkv, pool;
};
Rotated rotate(const LlamaConfig& config, const BatchLimits& limits, std::uint32_t layer,
               const Ints& entries, const Ints& positions, const std::vector<Bf16>& qkv) {
  const auto tokens = static_cast<std::uint32_t>(entries.size());
  const DeviceArray<std::int32_t> entry(entries), position(positions);
  const DeviceArray<float> frequencies(rope_frequencies(config));
  const DeviceArray<Bf16> values(qkv), pool(KvPool(config, limits, nullptr).layer_size * 2);
  StepPlan plan{};
  plan.entry = entry.data();
  plan.position = position.data();
  enqueue_rope_append(nullptr, tokens, config.heads, plan, frequencies.data(),
                      KvPool(config, limits, pool.data()), layer, values.data());
  return {values.read(), pool.read()};
}

class RopeTest : public cuda::DeviceTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  static LlamaConfig config() {
    LlamaConfig config;
    config.heads = GetParam() == 256 ? 90 : 8;  // 256: more than a block's threads
    config.kv_heads = 2;
    config.head_dim = GetParam();
    config.rope_theta = 500000;
    config.rope_scaling = RopeScaling{};
    return config;
  }
  static constexpr BatchLimits kLimits = {
      .rows = 4, .tokens = 8, .pages_per_row = 3, .page_tokens = 16, .pages = 5};
};
INSTANTIATE_TEST_SUITE_P(HeadDim, RopeTest, testing::Values(16, 64, 128, 256),
                         testing::PrintToStringParamName());

TEST_P(RopeTest, RotatesQueriesAndWritesKeysAndValuesToTheirEntries) {
  const LlamaConfig c = config();
  const Ints entries = {79, -1, 0, 17, 33}, positions = {0, 9, 1, 5000, 131071};
  const std::vector<Bf16> before = random_bf16(entries.size() * c.qkv_size(), 1);
  const Rotated after = rotate(c, kLimits, 1, entries, positions, before);

  const std::size_t half = c.head_dim / 2;
  const std::vector<float> frequencies = rope_frequencies(c);
  std::vector<float> cosines(half), sines(half);
  KvPool pool(c, kLimits, nullptr);
  std::vector<bool> written(after.pool.size());
  for (std::size_t t = 0; t < entries.size(); ++t) {
    if (entries[t] < 0) continue;
    rope_angles(frequencies, static_cast<std::uint32_t>(positions[t]), cosines.data(),
                sines.data());
    for (std::uint32_t head = 0; head < c.heads + 2 * c.kv_heads; ++head) {
      const std::size_t begin = t * c.qkv_size() + head * c.head_dim;
      const Bf16* x = &before[begin];
      const bool is_value = head >= c.heads + c.kv_heads;
      std::vector<double> expected(c.head_dim), terms(c.head_dim);
      for (std::size_t i = 0; i < half; ++i) {
        const double a = real(x[i]), b = real(x[i + half]);
        const double cosine = is_value ? 1 : cosines[i], sine = is_value ? 0 : sines[i];
        expected[i] = a * cosine - b * sine;
        expected[i + half] = b * cosine + a * sine;
        terms[i] = terms[i + half] = std::max(std::abs(a), std::abs(b));
      }
      const Bf16* actual = &after.qkv[begin];
      if (head >= c.heads) {
        // Layer 1; the page, the key or the value, the head, the place in the page.
        const auto entry = static_cast<std::size_t>(entries[t]);
        const std::size_t kv_head = (head - c.heads) % c.kv_heads;
        const std::size_t at =
            pool.layer_size +
            ((((entry / 16 * 2 + (is_value ? 1 : 0)) * c.kv_heads) + kv_head) * 16 + entry % 16) *
                c.head_dim;
        actual = &after.pool[at];
        std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at), c.head_dim, true);
      }
      expect_near({actual, actual + c.head_dim}, expected, terms);
    }
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    ASSERT_TRUE(written[i] || real(after.pool[i]) == 0) << "element " << i << " of no token";
  }
}

TEST_P(RopeTest, ATokensBitsAreTheSameAloneAndInAnyPlace) {
  const LlamaConfig c = config();
  std::vector<Bf16> qkv = random_bf16(4 * c.qkv_size(), 2);
  std::copy_n(qkv.begin(), c.qkv_size(), qkv.begin() + std::ptrdiff_t{3} * c.qkv_size());
  const Rotated all = rotate(c, kLimits, 0, {5, 6, 7, 8}, {777, 0, 1, 777}, qkv);
  qkv.resize(c.qkv_size());
  const Rotated alone = rotate(c, kLimits, 0, {5}, {777}, qkv);
  EXPECT_TRUE(same_bits(all.qkv.data(), alone.qkv.data(), c.query_size()));
  EXPECT_TRUE(same_bits(&all.qkv[3 * c.qkv_size()], alone.qkv.data(), c.query_size()));
  EXPECT_TRUE(same_bits(&all.pool[5 * c.head_dim], &alone.pool[5 * c.head_dim], c.head_dim));
  EXPECT_TRUE(same_bits(&all.pool[8 * c.head_dim], &alone.pool[5 * c.head_dim], c.head_dim));
}

TEST_F(PointwiseTest, TheRotationRefusesHeadsThatItCannotTake) {
  LlamaConfig config;
  for (const std::uint32_t head_dim : {24U, 272U}) {
    config.head_dim = head_dim;
    EXPECT_THROW(enqueue_rope_append(nullptr, 1, 1, StepPlan{}, nullptr,
                                     KvPool(config, {1, 1, 1, 16, 1}, nullptr), 0, nullptr),
                 runtime::UsageError);
  }
}

TEST_F(PointwiseTest, SwigluIsSiluOfTheGateTimesUp) {
  for (const std::uint32_t intermediate : {8U, 704U, 14336U}) {
    SCOPED_TRACE(intermediate);
    std::vector<Bf16> gate_up = random_bf16(3 * 2 * intermediate, 1, 4);
    // Where exp overflows, and where it vanishes.
    gate_up[0] = __float2bfloat16(-200);
    gate_up[1] = __float2bfloat16(200);
    gate_up[2] = __float2bfloat16(-88);
    const DeviceArray<Bf16> in(gate_up), out(3 * intermediate);
    enqueue_swiglu(nullptr, 3, intermediate, in.data(), out.data());
    std::vector<double> expected;
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < intermediate; ++i) {
        const double gate = real(gate_up[t * 2 * intermediate + i]);
        const double up = real(gate_up[(t * 2 + 1) * intermediate + i]);
        expected.push_back(gate / (1 + std::exp(-gate)) * up);
      }
    }
    std::vector<double> terms(expected.size());
    for (std::size_t i = 0; i < terms.size(); ++i)
      terms[i] = std::max(std::abs(expected[i]), 1e-20);  // exp overflows for -88 and less
    expect_near(out.read(), expected, terms);

    const DeviceArray<Bf16> alone(intermediate);
    enqueue_swiglu(nullptr, 1, intermediate, in.data() + 4 * intermediate, alone.data());
    EXPECT_TRUE(same_bits(&out.read()[2 * intermediate], alone.read().data(), intermediate));
  }
  EXPECT_THROW(enqueue_swiglu(nullptr, 1, 12, nullptr, nullptr), runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::models::llama
