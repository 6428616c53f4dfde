// The benchmark: what it measures on a machine whose times are known, who runs when, and what its
// check finds.
#include "backend/ulysses/benchmark/benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/races.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/ulysses/benchmark/inputs.h"
#include "backend/ulysses/benchmark/samples.h"
#include "sim/sim_engine.h"
#include "tests/ulysses/faulty_attention.h"

namespace syncopate::ulysses {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As in timing_test.cc: 100 us for each head's attention over 10 tokens; for each head of 5 tokens
/// that crosses a link 30 us of Q, K and V, and 10 us of output.
sim::HardwareProfile links_and_attention() {
  sim::HardwareProfile profile;
  profile.kernel(runtime::Work::kAttention).per_attention_kpair_us = 1000;
  profile.peer = {0, 8e-3};
  profile.d2d = profile.d2h = {0, 1e6};
  return profile;
}

BenchmarkVariant variant(const char* name, StrategyKind strategy,
                         std::vector<std::uint32_t> schedule = {}, bool graphs = false) {
  return {name,
          {.strategy = strategy, .slots = 0, .causal = false, .graphs = graphs},
          std::move(schedule)};
}

BenchmarkOptions two_ranks() {
  BenchmarkOptions options;
  options.shape = {1, {5, 5}, 8, 8, 4, ElementType::kFp32, {}};
  options.variants = {variant("ordinary", StrategyKind::kOrdinary),
                      variant("overlap", StrategyKind::kChunkOverlap, {1, 2, 1})};
  options.warmups = 1;
  options.iterations = 9;
  return options;
}

struct Ran {
  runtime::Timeline timeline;
  Rotation rotation;
  std::vector<Entrant> entrants;
  std::vector<VariantCheck> checks;
  Difference oracle;
  std::string error;

  /// Microseconds of every sample that counts, by the entrant's name.
  std::map<std::string, std::vector<double>> times() const {
    std::map<std::string, std::vector<double>> out;
    for (const Sample& sample : samples(timeline, rotation)) {
      if (!rotation.counts(sample.step)) continue;
      out[entrants[rotation.entrant(sample.step)].name].push_back(static_cast<double>(sample.time) /
                                                                  1000);
    }
    return out;
  }
};

Ran run(std::unique_ptr<runtime::Engine> engine, const BenchmarkOptions& options,
        const Attention& attention = HostAttention()) {
  runtime::Runtime runtime(std::move(engine));
  Benchmark benchmark(runtime, attention, options);
  Ran out;
  const std::vector<runtime::HostMain> mains(options.shape.tokens.size(),
                                             [&](runtime::Host& host) { benchmark.run(host); });
  try {
    runtime.run(mains);
  } catch (const runtime::Error& error) {
    out.error = error.what();
  }
  out.rotation = benchmark.rotation();
  out.entrants = benchmark.entrants();
  if (benchmark.checked()) {
    for (std::size_t i = 0; i < options.variants.size(); ++i) {
      out.checks.push_back(benchmark.check_of(i));
    }
    out.oracle = benchmark.oracle_check();
  }
  out.timeline = runtime.take_timeline();
  return out;
}

Ran run_in_virtual_time(const BenchmarkOptions& options,
                        const Attention& attention = HostAttention()) {
  const auto ranks = static_cast<int>(options.shape.tokens.size());
  return run(sim::make_sim_engine(links_and_attention(), {}, ranks), options, attention);
}

TEST(RotationTest, EachIterationBeginsWithTheNextEntrant) {
  const Rotation rotation = {3, 1, 3};
  std::vector<std::size_t> order;
  for (std::size_t step = 0; step < rotation.steps(); ++step) {
    order.push_back(rotation.entrant(step));
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2));
  EXPECT_FALSE(rotation.counts(2));
  EXPECT_TRUE(rotation.counts(3));
  EXPECT_EQ(rotation.iteration(3), 0U);
  EXPECT_EQ(rotation.iteration(11), 2U);
}

TEST(BenchmarkTest, MeasuresPassesAndPartsExactlyWhereTimesAreKnown) {
  const Ran ran = run_in_virtual_time(two_ranks());
  EXPECT_EQ(ran.error, "");
  const auto times = ran.times();
  const std::map<std::string, double> expected = {
      {"ordinary", 560},        {"overlap", 440},     {"input 4", 120},
      {"attention 4", 400},     {"output 4", 40},     {"input 1+2+1", 120},
      {"attention 1+2+1", 400}, {"output 1+2+1", 40}, {"first_input 1+2+1", 30},
      {"last_output 1+2+1", 10}};
  ASSERT_EQ(times.size(), expected.size());
  for (const auto& [name, us] : expected) {
    ASSERT_TRUE(times.contains(name)) << name;
    EXPECT_EQ(times.at(name).size(), 9U * 2U) << name;
    EXPECT_THAT(times.at(name), Each(testing::DoubleNear(us, 0.01))) << name;
  }
}

TEST(BenchmarkTest, TheHostsTimeToEnqueueIsThatOfItsCalls) {
  sim::HardwareProfile profile = links_and_attention();
  profile.host.copy_us = 2;
  BenchmarkOptions options = two_ranks();
  options.variants = {variant("fused", StrategyKind::kWholeFused)};
  const Ran ran = run(sim::make_sim_engine(profile, {}, 2), options);
  for (const Sample& sample : samples(ran.timeline, ran.rotation)) {
    if (ran.rotation.entrant(sample.step) != 0) continue;
    // Q, K and V and the output, to the other rank and to itself; nothing else costs.
    EXPECT_EQ(sample.enqueue, 8 * 2000);
  }
}

TEST(BenchmarkTest, UnevenRanksTakeAsLongAsTheLargestSends) {
  BenchmarkOptions options = two_ranks();
  options.shape.tokens = {9, 1};
  const Ran ran = run_in_virtual_time(options);
  EXPECT_EQ(ran.error, "");
  const auto times = ran.times();
  // A head of 9 tokens takes 18 us to cross.
  EXPECT_THAT(times.at("input 4"), Each(testing::DoubleNear(4 * 3 * 18, 0.01)));
}

/// Uneven, with a rank that holds nothing, GQA across the ranks, several sequences.
std::vector<BenchmarkOptions> all_sorts() {
  std::vector<BenchmarkOptions> all;
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16, ElementType::kFp32}) {
    for (const bool causal : {false, true}) {
      BenchmarkOptions options;
      options.shape = {2, {4, 0, 7}, 12, 2, 8, type, {}};
      options.causal = causal;
      options.warmups = 0;
      options.iterations = 1;
      options.variants = {variant("ordinary", StrategyKind::kOrdinary),
                          variant("fused", StrategyKind::kWholeFused),
                          variant("sequential", StrategyKind::kChunkSequential, {1, 2, 1}),
                          variant("overlap", StrategyKind::kChunkOverlap, {1, 2, 1}),
                          variant("narrow", StrategyKind::kChunkOverlap, {1, 1, 2}),
                          variant("graphs", StrategyKind::kChunkOverlap, {1, 2, 1}, true),
                          variant("nccl", StrategyKind::kChunkOverlap, {1, 2, 1}, true),
                          variant("per_call", StrategyKind::kWholeFused)};
      options.variants[4].options.slots = 1;
      options.variants[6].options.transport = Transport::kNccl;
      options.variants[7].options.workspace = WorkspaceUse::kPerCall;
      all.push_back(options);
    }
  }
  return all;
}

void expect_right(const Ran& ran, const BenchmarkOptions& options) {
  EXPECT_EQ(ran.error, "");
  ASSERT_EQ(ran.checks.size(), options.variants.size());
  for (const VariantCheck& check : ran.checks) EXPECT_EQ(check.difference.largest, 0);
  EXPECT_GT(ran.oracle.largest, 0);
  EXPECT_LT(ran.oracle.largest, options.shape.type == ElementType::kFp32 ? 1e-6 : 5e-3);
  const auto races = analysis::find_races(ran.timeline);
  EXPECT_TRUE(races.empty()) << analysis::describe(ran.timeline, races[0]);
}

TEST(BenchmarkTest, EveryVariantIsRightAndOrderedInVirtualTime) {
  for (const BenchmarkOptions& options : all_sorts()) {
    expect_right(run_in_virtual_time(options), options);
  }
}

TEST(BenchmarkTest, OnThreadsToo) {
  for (const BenchmarkOptions& options : all_sorts()) {
    expect_right(run(cpu::make_cpu_engine({}, 3), options), options);
  }
}

TEST(BenchmarkTest, OneWrongElementOfOneBandIsFoundAndNamed) {
  // Of the middle band, which alone has two heads. Token 7 is rank 1's.
  const SpoiledAttention attention([](const AttentionBand& band, float* output) {
    if (band.query_heads == 2) output[(7 * 2 + 1) * 4 + 2] += 0.25F;
  });
  const Ran ran = run_in_virtual_time(two_ranks(), attention);
  EXPECT_THAT(ran.error,
              HasSubstr("variant 'overlap' is wrong at rank 1: batch 0, token 7, head "));
  EXPECT_THAT(ran.error, HasSubstr("element 2 is "));
  EXPECT_THAT(ran.error, HasSubstr("(within 0.02)"));
  EXPECT_TRUE(samples(ran.timeline, ran.rotation).empty()) << "nothing wrong is timed";
}

TEST(BenchmarkTest, AnAttentionThatIsWrongEverywhereIsFoundByTheFormula) {
  const SpoiledAttention attention([](const AttentionBand& band, float* output) {
    const std::size_t count =
        std::size_t{band.batch} * band.tokens * band.query_heads * band.head_dim;
    for (std::size_t i = 0; i < count; ++i) output[i] *= 1.5F;
  });
  EXPECT_THAT(run_in_virtual_time(two_ranks(), attention).error,
              HasSubstr("the attention of one device is wrong: batch "));
}

TEST(BenchmarkTest, WithoutTheCheckNothingIsCompared) {
  BenchmarkOptions options = two_ranks();
  options.check = false;
  const SpoiledAttention attention([](const AttentionBand&, float* output) { output[0] = 9; });
  const Ran ran = run_in_virtual_time(options, attention);
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.checks.empty());
  EXPECT_EQ(samples(ran.timeline, ran.rotation).size(), ran.rotation.steps() * 2);
}

TEST(BenchmarkTest, OfARunThatFailsTheWholeStepsAreKept) {
  BenchmarkOptions options = two_ranks();
  options.check = false;
  const SpoiledAttention attention = failing_attention(19);
  const Ran ran = run_in_virtual_time(options, attention);
  EXPECT_THAT(ran.error, HasSubstr("the attention's fault"));
  const auto kept = samples(ran.timeline, ran.rotation);
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.size() % 2, 0U);
  EXPECT_LT(kept.size(), ran.rotation.steps() * 2);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].step, i / 2);
    EXPECT_EQ(kept[i].rank, i % 2);
  }
}

TEST(ComparisonTest, WhatIsNoNumberIsTheWorst) {
  const float right[] = {1, 2, 3, 4};
  const float got[] = {1, 2.5F, NAN, 4.75F};
  Difference worst;
  compare(worst, ElementType::kFp32, reinterpret_cast<const std::byte*>(got),
          reinterpret_cast<const std::byte*>(right), 2, 100);
  EXPECT_EQ(worst.largest, 0.5);
  EXPECT_EQ(worst.element, 101U);
  compare(worst, ElementType::kFp32, reinterpret_cast<const std::byte*>(got),
          reinterpret_cast<const std::byte*>(right), 4, 100);
  EXPECT_TRUE(std::isinf(worst.largest));
  EXPECT_EQ(worst.element, 102U);
}

TEST(InputsTest, APartHoldsWhatTheWholeHoldsThere) {
  std::vector<float> whole(2 * 5 * 3), part(2 * 2 * 3);
  std::byte* bases[] = {reinterpret_cast<std::byte*>(whole.data()),
                        reinterpret_cast<std::byte*>(part.data())};
  runtime::Exec exec(bases, nullptr);
  InputPart all{runtime::Buffer{0}, ElementType::kFp32, Tensor::kK, 2, 5, 3, 0, 5, 0, 7};
  fill_kernel(all).host(exec);
  InputPart some = all;
  some.buffer = runtime::Buffer{1};
  some.first_token = 2;
  some.tokens = 2;
  fill_kernel(some).host(exec);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(part[b * 6 + i], whole[b * 15 + 6 + i]);
  }
}

TEST(InputsTest, ValuesAreEvenOverTheirRangeAndDifferByTensorAndSeed) {
  constexpr int kCount = 100'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double value = input_value(1, Tensor::kQ, static_cast<std::uint64_t>(i));
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.01);
  EXPECT_NE(input_value(1, Tensor::kQ, 0), input_value(1, Tensor::kK, 0));
  EXPECT_NE(input_value(1, Tensor::kQ, 0), input_value(2, Tensor::kQ, 0));
}

TEST(InputsTest, PoisonIsNoNumberInAnyType) {
  std::vector<std::uint32_t> memory(4);
  std::byte* bases[] = {reinterpret_cast<std::byte*>(memory.data())};
  runtime::Exec exec(bases, nullptr);
  poison_kernel(runtime::Buffer{0}, 12).host(exec);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(memory[0])));
  EXPECT_TRUE(std::isnan(to_float(Bf16{static_cast<std::uint16_t>(memory[2])})));
  EXPECT_TRUE(std::isnan(to_float(Fp16{static_cast<std::uint16_t>(memory[2])})));
  EXPECT_EQ(memory[3], 0U);
}

}  // namespace
}  // namespace syncopate::ulysses
