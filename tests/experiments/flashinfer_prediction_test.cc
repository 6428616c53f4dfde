// Whether virtual time, on profiles written from parts alone, predicts passes that another program
// was measured at: FlashInfer 0.7.4's Ulysses calls on two H200s, 56 heads of 128, bf16.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "backend/ulysses/host_attention.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"

namespace syncopate::experiments {
namespace {

/// Medians of two measured runs, the slowest rank's time by CUDA events, in ms: FlashInfer 0.7.4,
/// torch 2.11.0+cu130, cuDNN 9.19, NCCL 2.28.9, driver 580.159.04, 2 x H200 (NV18, 700 W),
/// 2026-11-30.
struct MeasuredPass {
  double first_ms, second_ms;
  double mean_ms() const { return (first_ms + second_ms) / 2; }
};

struct MeasuredPasses {
  std::uint32_t tokens;
  MeasuredPass nccl_ordinary, nccl_overlap, copies_ordinary;
};

constexpr MeasuredPasses kMeasuredPasses[] = {
    {4096, {1.065, 1.130}, {2.258, 2.298}, {1.002, 0.870}},
    {8192, {2.513, 2.602}, {2.879, 3.059}, {2.141, 2.015}},
    {16384, {7.605, 7.687}, {7.599, 7.623}, {6.992, 6.784}},
    {37760, {37.61, 37.58}, {37.53, 37.26}, {35.00, 35.44}},
};

struct PredictedPasses {
  double nccl_ordinary, nccl_overlap, copies_ordinary;  // ms
};

/// Medians of a configuration's variants, in its order.
nlohmann::ordered_json medians_of(const char* config, std::uint32_t tokens) {
  const std::filesystem::path file =
      std::filesystem::path(SYNCOPATE_SOURCE_DIR) / "configs" / "ulysses" / config;
  const ResolvedConfig resolved =
      load_config(file, {{fmt::format("shape.sequence={}", tokens), "benchmark.iterations=3"}, {}});
  return metrics(run_attention(resolved, ulysses::HostAttention()))["ulysses"]["variants"];
}

PredictedPasses predict(std::uint32_t tokens) {
  const auto nccl = medians_of("flashinfer.yaml", tokens);
  const auto copies = medians_of("flashinfer_copies.yaml", tokens);
  EXPECT_EQ(nccl[0]["name"], "ordinary nccl");
  EXPECT_EQ(nccl[1]["name"], "chunk_overlap 7+14+7 in_turn nccl");
  EXPECT_EQ(copies[0]["name"], "ordinary");
  return {nccl[0]["median_ms"], nccl[1]["median_ms"], copies[0]["median_ms"]};
}

double deviation_pct(double predicted_ms, const MeasuredPass& measured) {
  return 100 * (predicted_ms / measured.mean_ms() - 1);
}

TEST(FlashInferPrediction, PassesOfLongerSequencesAreWithinFivePercent) {
  for (const MeasuredPasses& measured : kMeasuredPasses) {
    if (measured.tokens < 8192) continue;
    SCOPED_TRACE(fmt::format("{} tokens", measured.tokens));
    const PredictedPasses predicted = predict(measured.tokens);
    EXPECT_NEAR(deviation_pct(predicted.nccl_ordinary, measured.nccl_ordinary), 0, 5);
    EXPECT_NEAR(deviation_pct(predicted.copies_ordinary, measured.copies_ordinary), 0, 5);
    if (measured.tokens == 8192) continue;  // below
    EXPECT_NEAR(deviation_pct(predicted.nccl_overlap, measured.nccl_overlap), 0, 5);
  }
}

// A collective alone, fused or of one band, was measured some 0.15 ms longer than its kernels and
// NCCL take. Three that follow each other took little of that more than once (0.55 ms at 4,096
// tokens, 0.48 of it host time). In this pass each comes behind an attention of both ranks, as if
// alone, and three of them are exposed. Nothing measured says what it is (how far the two processes
// are apart, perhaps), so the profile has no term for it, and the prediction stays 0.16 ms short.
TEST(FlashInferPrediction, TheOverlappedPassOf8192TokensIsPredictedTooShort) {
  const double off = deviation_pct(predict(8192).nccl_overlap, kMeasuredPasses[1].nccl_overlap);
  EXPECT_LT(off, -5) << "it is predicted now: into the test above";
  EXPECT_GT(off, -7);
}

// Host time is most of such a pass, and its two measured runs are up to 14 % apart.
TEST(FlashInferPrediction, ShortPassesAreRoughlyRight) {
  const MeasuredPasses& measured = kMeasuredPasses[0];
  const PredictedPasses predicted = predict(measured.tokens);
  EXPECT_NEAR(deviation_pct(predicted.nccl_ordinary, measured.nccl_ordinary), 0, 5);
  EXPECT_NEAR(deviation_pct(predicted.nccl_overlap, measured.nccl_overlap), 0, 5);
  EXPECT_NEAR(deviation_pct(predicted.copies_ordinary, measured.copies_ordinary), 0, 12);
}

/// Of two measured passes, whether the second is slower, equal (their runs overlap) or faster.
enum class Order { kSlower, kEqual, kFaster };
Order order_of(const MeasuredPass& reference, const MeasuredPass& other) {
  const auto [least, most] = std::minmax(reference.first_ms, reference.second_ms);
  const auto [other_least, other_most] = std::minmax(other.first_ms, other.second_ms);
  if (other_least > most) return Order::kSlower;
  return other_most < least ? Order::kFaster : Order::kEqual;
}

// The finding itself: overlap over NCCL loses where it was measured to lose, and is never predicted
// to gain 2 % over its own unchunked pass, which it never was measured to.
TEST(FlashInferPrediction, OverlapLosesWhereItLost) {
  int lost = 0;
  for (const MeasuredPasses& measured : kMeasuredPasses) {
    SCOPED_TRACE(fmt::format("{} tokens", measured.tokens));
    const PredictedPasses predicted = predict(measured.tokens);
    EXPECT_EQ(order_of(measured.copies_ordinary, measured.nccl_overlap), Order::kSlower);
    EXPECT_GT(predicted.nccl_overlap, predicted.copies_ordinary) << "the best unchunked pass";
    EXPECT_GT(measured.nccl_overlap.mean_ms(), 0.98 * measured.nccl_ordinary.mean_ms());
    EXPECT_GT(predicted.nccl_overlap, 0.98 * predicted.nccl_ordinary);
    if (order_of(measured.nccl_ordinary, measured.nccl_overlap) != Order::kSlower) continue;
    EXPECT_GT(predicted.nccl_overlap, predicted.nccl_ordinary);
    ++lost;
  }
  EXPECT_EQ(lost, 2) << "at 4,096 and 8,192 tokens";
}

}  // namespace
}  // namespace syncopate::experiments
