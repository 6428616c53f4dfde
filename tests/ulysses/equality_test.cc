// Every strategy gives the attention of one device, to the bit, and has no races: in virtual time,
// under drawn timings, and on threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/races.h"
#include "backend/cpu/cpu_engine.h"
#include "sim/sim_engine.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

constexpr StrategyKind kStrategies[] = {StrategyKind::kOrdinary, StrategyKind::kWholeFused,
                                        StrategyKind::kChunkSequential,
                                        StrategyKind::kChunkOverlap};

std::string text_of(const Passes& passes) {
  return HeadChunkLayout(passes.layout).explain() + to_string(passes.options.strategy) + ", " +
         std::to_string(passes.options.slots) + " slots" +
         (passes.options.causal ? ", causal" : "") + ", " + to_string(passes.options.transport) +
         (passes.options.graphs ? ", graphs" : "") +
         (passes.options.enqueue == EnqueueOrder::kInTurn ? ", in turn" : "") +
         (passes.options.workspace == WorkspaceUse::kPerCall ? ", workspace per call" : "");
}

/// W = 1 to 4, even and uneven (a rank may hold nothing), MHA, GQA with bands along the groups and
/// across them, fewer K/V heads than ranks.
std::vector<LayoutOptions> layouts() {
  return {{1, {7}, 4, 4, 4, ElementType::kFp32, {1, 2, 1}},
          {2, {5}, 4, 2, 4, ElementType::kFp32, {3, 1}},
          {1, {4, 4}, 8, 8, 4, ElementType::kFp32, {1, 2, 1}},
          {2, {3, 5}, 8, 4, 4, ElementType::kFp32, {1, 2, 1}},
          {1, {5, 2}, 8, 2, 4, ElementType::kFp32, {2, 2}},
          {1, {6, 3}, 6, 1, 4, ElementType::kFp32, {1, 1, 1}},
          {1, {3, 1, 4}, 9, 3, 4, ElementType::kFp32, {1, 2}},
          {2, {2, 0, 3}, 6, 2, 4, ElementType::kFp32, {1, 1}},
          {1, {2, 3, 1, 2}, 8, 2, 4, ElementType::kFp32, {1, 1}},
          {1, {2, 2, 2, 2}, 12, 12, 2, ElementType::kFp32, {1, 1, 1}},
          {2, {1, 2, 3, 4}, 16, 8, 2, ElementType::kFp32, {3, 1}},
          {1, {1, 1, 1, 1}, 4, 1, 4, ElementType::kFp32, {1}}};
}

/// All strategies of a layout, and the overlapped one with every number of slots; each also by the
/// other transport, and by both as a graph, which the third and fourth pass launch again.
std::vector<Passes> variants(const LayoutOptions& layout) {
  std::vector<Passes> all;
  for (const bool causal : {false, true}) {
    for (const StrategyKind strategy : kStrategies) {
      all.push_back({layout, {strategy, 0, causal}, 3});
    }
    for (std::uint32_t slots = 1; slots < layout.schedule.size(); ++slots) {
      all.push_back({layout, {StrategyKind::kChunkOverlap, slots, causal}, 3});
    }
  }
  const std::size_t plain = all.size() / 2;  // causal or not is the same to these
  for (std::size_t i = 0; i < plain; ++i) {
    all.push_back(all[i]);
    all.back().options.transport = Transport::kNccl;
    for (const Transport transport : {Transport::kPeer, Transport::kNccl}) {
      all.push_back(all[i]);
      all.back().options.transport = transport;
      all.back().options.graphs = true;
      all.back().passes = 4;
    }
  }
  for (const std::uint32_t slots : {0U, 1U}) {
    all.push_back({layout, {StrategyKind::kChunkOverlap, slots}, 3});
    all.back().options.workspace = WorkspaceUse::kPerCall;
    all.push_back({layout, {StrategyKind::kChunkOverlap, slots}, 3});
    all.back().options.enqueue = EnqueueOrder::kInTurn;
  }
  return all;
}

int world(const Passes& passes) { return static_cast<int>(passes.layout.tokens.size()); }

TEST(EqualityTest, EveryStrategyGivesTheAttentionOfOneDeviceInVirtualTime) {
  for (const LayoutOptions& layout : layouts()) {
    for (const Passes& passes : variants(layout)) {
      const PassesOutcome outcome =
          make_passes(sim::make_sim_engine({}, {}, world(passes)), passes);
      EXPECT_EQ(outcome.outputs, expected_outputs(passes)) << text_of(passes);
      const auto races = analysis::find_races(outcome.timeline);
      EXPECT_TRUE(races.empty()) << text_of(passes) << "\n"
                                 << analysis::describe(outcome.timeline, races[0]);
    }
  }
}

TEST(EqualityTest, UnderDrawnTimingsToo) {
  for (const LayoutOptions& layout : layouts()) {
    for (const Passes& passes : variants(layout)) {
      if (passes.options.causal) continue;  // order does not depend on it
      const Outputs expected = expected_outputs(passes);
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        sim::SimOptions chaos;
        chaos.chaos = true;
        chaos.seed = seed;
        const PassesOutcome outcome =
            make_passes(sim::make_sim_engine({}, chaos, world(passes)), passes);
        ASSERT_EQ(outcome.outputs, expected) << text_of(passes) << ", seed " << seed;
      }
    }
  }
}

// Their outputs follow each other in one buffer, as in a benchmark that compares them.
TEST(EqualityTest, StrategiesMayTakeTurnsOnTheSameTensors) {
  const LayoutOptions layout{1, {3, 1, 4}, 9, 3, 4, ElementType::kFp32, {1, 1, 1}};
  for (const StrategyKind first : kStrategies) {
    for (const StrategyKind second : kStrategies) {
      for (const Transport transport : {Transport::kPeer, Transport::kNccl}) {
        UlyssesOptions odd = {second, 1};
        odd.transport = transport;
        const Passes passes{layout, {first, 2}, 4, odd};
        const Outputs expected = expected_outputs(passes);
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
          sim::SimOptions chaos;
          chaos.chaos = true;
          chaos.seed = seed;
          const PassesOutcome outcome = make_passes(sim::make_sim_engine({}, chaos, 3), passes);
          EXPECT_EQ(outcome.outputs, expected) << text_of(passes) << to_string(second);
          EXPECT_TRUE(analysis::find_races(outcome.timeline).empty()) << text_of(passes);
        }
      }
    }
  }
}

TEST(EqualityTest, OnThreadsToo) {
  for (const LayoutOptions& layout : layouts()) {
    for (const Passes& passes : variants(layout)) {
      const PassesOutcome outcome = make_passes(cpu::make_cpu_engine({}, world(passes)), passes);
      EXPECT_EQ(outcome.outputs, expected_outputs(passes)) << text_of(passes);
    }
  }
}

TEST(EqualityTest, OnThreadsWithDelaysToo) {
  const LayoutOptions layout{1, {2, 3, 1, 2}, 16, 4, 4, ElementType::kFp32, {1, 2, 1}};
  for (const Passes& passes : variants(layout)) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      cpu::CpuOptions delays;
      delays.chaos_seed = seed;
      const PassesOutcome outcome = make_passes(cpu::make_cpu_engine(delays, 4), passes);
      EXPECT_EQ(outcome.outputs, expected_outputs(passes)) << text_of(passes) << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace syncopate::ulysses
