// The search for the fastest pass, against running everything there is.
#include "experiments/search/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "backend/ulysses/host_attention.h"
#include "experiments/run/report.h"
#include "experiments/run/run.h"
#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;
using ::testing::HasSubstr;

/// Drawn alike on every machine: std::uniform_int_distribution is not.
class Drawn {
 public:
  explicit Drawn(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t from_to(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(engine_() % (most - least + 1));
  }
  double share() { return static_cast<double>(from_to(0, 1000)) / 1000; }

 private:
  std::mt19937 engine_;
};

/// Machines on which overlap pays and on which it does not: calls, links and attention that take
/// anything from nothing to most of the time.
sim::HardwareProfile draw_machine(Drawn& draw) {
  sim::HardwareProfile machine;
  machine.name = "drawn";
  machine.host.kernel_launch_us = 10 * draw.share();
  machine.host.graph_launch_us = 2;
  machine.host.copy_us = 5 * draw.share();
  machine.host.record_us = draw.share();
  machine.host.wait_us = draw.share();
  machine.launch.latency_us = 3 * draw.share();
  machine.launch.handover_us = 3 * draw.share();
  sim::KernelCost& attention = machine.kernel(runtime::Work::kAttention);
  attention.base_us = draw.from_to(0, 30);
  attention.per_attention_kpair_us = draw.from_to(1, 40);
  attention.sm = 1;
  attention.holds = draw.from_to(0, 1);
  sim::KernelCost& relayout = machine.kernel(runtime::Work::kRelayout);
  relayout.base_us = draw.from_to(1, 10);
  relayout.per_mb_us = draw.from_to(1, 300);
  relayout.holds = 0.5;
  sim::KernelCost& exchange = machine.kernel(runtime::Work::kExchange);
  exchange.base_us = draw.from_to(1, 40);
  exchange.per_mb_us = draw.from_to(1, 900);
  exchange.holds = 0.25;
  machine.d2d = {static_cast<double>(draw.from_to(0, 4)), 0.01 + draw.share()};
  machine.peer = {static_cast<double>(draw.from_to(0, 8)), 0.005 + draw.share()};
  return machine;
}

SearchSpace draw_space(Drawn& draw) {
  SearchSpace space;
  const std::uint32_t world = draw.from_to(1, 4);
  space.shape.heads = world * draw.from_to(1, 5);
  space.shape.kv_heads = space.shape.heads;
  space.shape.head_dim = 16;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    space.shape.tokens.push_back(draw.from_to(1, 60));
  }
  space.common.causal = draw.from_to(0, 1) == 1;
  space.common.graphs = draw.from_to(0, 1) == 1;
  space.transports = {Transport::kPeer, Transport::kNccl};
  space.max_bands = draw.from_to(1, 5);
  return space;
}

/// All ways to cut `heads`: each of the places between two of them may be a cut.
std::vector<std::vector<std::uint32_t>> all_schedules(std::uint32_t heads,
                                                      std::uint32_t max_bands) {
  std::vector<std::vector<std::uint32_t>> out;
  for (std::uint32_t cuts = 0; cuts < (1U << (heads - 1)); ++cuts) {
    std::vector<std::uint32_t> schedule = {1};
    for (std::uint32_t place = 0; place + 1 < heads; ++place) {
      if ((cuts >> place & 1U) != 0) {
        schedule.push_back(1);
      } else {
        ++schedule.back();
      }
    }
    if (schedule.size() <= max_bands) out.push_back(std::move(schedule));
  }
  return out;
}

struct Best {
  Nanos plain = kNone, overlapped = kNone;
  std::size_t compared = 0;
  static constexpr Nanos kNone = std::numeric_limits<Nanos>::max();
};

/// Everything there is, one by one.
Best best_of_everything(const SearchSpace& space, const sim::HardwareProfile& machine) {
  using ulysses::StrategyKind;
  Best best;
  const auto world = static_cast<std::uint32_t>(space.shape.tokens.size());
  for (const auto& schedule : all_schedules(space.shape.heads / world, space.max_bands)) {
    for (const Transport transport : space.transports) {
      for (const StrategyKind strategy :
           {StrategyKind::kOrdinary, StrategyKind::kWholeFused, StrategyKind::kChunkSequential,
            StrategyKind::kChunkOverlap}) {
        const bool chunked =
            strategy == StrategyKind::kChunkSequential || strategy == StrategyKind::kChunkOverlap;
        if (chunked != (schedule.size() > 1)) continue;  // one band is what the others take
        ulysses::BenchmarkVariant variant{"", space.common, schedule};
        variant.options.strategy = strategy;
        variant.options.transport = transport;
        const Nanos time = pass_time(space, variant, machine);
        Nanos& least = strategy == StrategyKind::kChunkOverlap ? best.overlapped : best.plain;
        least = std::min(least, time);
        ++best.compared;
      }
    }
  }
  return best;
}

TEST(Search, FindsWhatIsFastestOfEverythingOnDrawnMachinesAndShapes) {
  int pays = 0, nccl = 0;
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Drawn draw(seed);
    const sim::HardwareProfile machine = draw_machine(draw);
    const SearchSpace space = draw_space(draw);
    const Best best = best_of_everything(space, machine);
    const SearchResult found = search(space, machine);
    EXPECT_EQ(found.best().figures.time, std::min(best.plain, best.overlapped));
    EXPECT_EQ(pass_time(space, found.best().variant, machine), found.best().figures.time);
    EXPECT_EQ(found.plain.figures.time, best.plain);
    EXPECT_EQ(found.overlapped ? found.overlapped->figures.time : Best::kNone, best.overlapped);
    EXPECT_EQ(found.overlaps, best.overlapped < best.plain);
    EXPECT_EQ(found.compared, best.compared);
    pays += found.overlaps ? 1 : 0;
    nccl += found.best().variant.options.transport == Transport::kNccl ? 1 : 0;
  }
  // The draws tell something only if the answer is not always the same.
  EXPECT_GT(pays, 10);
  EXPECT_LT(pays, 40);
  EXPECT_GT(nccl, 5);
  EXPECT_LT(nccl, 45);
}

/// 100 us for each head's attention over 10 tokens; for each head of 5 tokens that crosses a link
/// 30 us of Q, K and V, and 10 us of output.
constexpr const char* kLinksAndHeads = R"(
about: a link and attention
host: {kernel_launch_us: 0, graph_launch_us: 0, copy_us: 0, record_us: 0, wait_us: 0}
kernels: {forward: {}, carry: {}, attention: {base_us: BASE, per_attention_kpair_us: 1000}}
spans: {prepare: {}, update: {}}
h2d: {latency_us: 0, gb_per_s: 1e6}
d2h: {latency_us: 0, gb_per_s: 1e6}
d2d: {latency_us: 0, gb_per_s: 1e6}
peer: {latency_us: 0, gb_per_s: 8e-3}
)";

constexpr const char* kLeftOpen = R"(
program: ulysses
runtime: {kind: sim, profile: ./profile.yaml}
shape: {world: 2, sequence: 10, heads: 8, head_dim: 4, type: fp32}
variants: [{strategy: auto}]
)";

class SearchOnLinks : public testing::Test {
 protected:
  RunResult run_open(const char* base_us) {
    std::string profile = kLinksAndHeads;
    profile.replace(profile.find("BASE"), 4, base_us);
    scratch_.write("profile.yaml", profile);
    return run_attention(load_config(scratch_.write("a.yaml", kLeftOpen)),
                         ulysses::HostAttention());
  }
  SearchResult found(const char* base_us) {
    return run_open(base_us).ulysses().variants[0].found.value();
  }
  const Scratch scratch_;
};

// Four heads: 120 us in, 400 of attention, 40 out. The least that can be exposed is one head's
// scatter and one head's gather.
TEST_F(SearchOnLinks, SaysWhatIsHiddenWhereOverlapPays) {
  const SearchResult result = found("0");
  EXPECT_TRUE(result.overlaps);
  ASSERT_TRUE(result.overlapped);
  EXPECT_EQ(result.overlapped->variant.schedule, (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_NEAR(static_cast<double>(result.best().figures.time), 440e3, 10);
  EXPECT_NEAR(static_cast<double>(result.best().figures.exposed_input), 30e3, 10);
  EXPECT_NEAR(static_cast<double>(result.best().figures.exposed_output), 10e3, 10);
  EXPECT_NEAR(static_cast<double>(result.plain.figures.time), 560e3, 10);
  EXPECT_NEAR(static_cast<double>(result.plain.figures.exposed_input), 120e3, 10);
  const std::string text = explain(result);
  EXPECT_THAT(text, HasSubstr("chunk_overlap 1+2+1 over peer"));
  EXPECT_THAT(text, HasSubstr("0.440 ms: attention 0.400, exposed input 0.030 and output 0.010"));
  EXPECT_THAT(text, HasSubstr("overlap pays: -0.120 ms of exposed communication, +0.000 ms"));
  EXPECT_THAT(text, HasSubstr("bands at 100+100+100 % of its speed in one"));
}

// What is chosen is what runs: the same pass among its parts, which the benchmark takes turns with.
TEST_F(SearchOnLinks, TheRunIsThatOfTheChoice) {
  const RunResult run = run_open("0");
  const VariantFacts& chosen = run.ulysses().variants[0];
  EXPECT_EQ(chosen.config.strategy, PassStrategy::kChunkOverlap);
  EXPECT_EQ(chosen.config.schedule, (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_EQ(chosen.config.slots, 3U);
  EXPECT_EQ(chosen.config.transport, Transport::kPeer);
  const auto variant = metrics(run)["ulysses"]["variants"][0];
  EXPECT_EQ(variant["name"], "auto");
  EXPECT_EQ(variant["strategy"], "chunk_overlap");
  EXPECT_NEAR(variant["median_ms"], 0.440, 1e-5);
  EXPECT_EQ(variant["search"]["overlap_pays"], true);
  EXPECT_NEAR(variant["search"]["plain"]["pass_ms"], 0.560, 1e-5);
  EXPECT_NEAR(variant["search"]["overlapped"]["exposed_output_ms"], 0.010, 1e-5);
}

// A band more costs 200 us, and hides at most 90 + 30.
TEST_F(SearchOnLinks, SaysWhyOverlapDoesNotPay) {
  const SearchResult result = found("200");
  EXPECT_FALSE(result.overlaps);
  EXPECT_EQ(result.best().variant.options.strategy, ulysses::StrategyKind::kOrdinary);
  EXPECT_NEAR(static_cast<double>(result.best().figures.time), 760e3, 10);
  const std::string text = explain(result);
  EXPECT_THAT(text, HasSubstr("ordinary over peer, the fastest of"));
  EXPECT_THAT(text, HasSubstr("overlap does not pay"));
  EXPECT_THAT(text, HasSubstr("+0.200 ms of attention"));
}

}  // namespace
}  // namespace syncopate::experiments
