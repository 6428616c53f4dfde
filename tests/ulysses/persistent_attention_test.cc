// Why kernels do not overlap with an attention that holds every SM, and copies do: passes of both
// transports in virtual time, to the nanosecond.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/sim_engine.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

using runtime::Work;
using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Two ranks with 5 tokens each, 8 heads of 4 floats: a head of 5 tokens is 80 bytes. Attention
/// takes 100 us for each of a rank's 4 heads. A head crosses the link in 10 us, by a copy or by an
/// exchange; to pack or merge a head takes 1 us. `holds`: the block slots of an attention, of which
/// a relayout needs a quarter and an exchange another.
sim::HardwareProfile machine(double holds) {
  sim::HardwareProfile profile;
  profile.kernel(Work::kAttention) = {.per_attention_kpair_us = 1000, .holds = holds};
  profile.kernel(Work::kRelayout) = {.per_mb_us = 1e6 / 80, .holds = 0.25};
  profile.kernel(Work::kExchange) = {.per_mb_us = 1e7 / 80, .holds = 0.25};
  profile.peer = {0, 8e-3};
  profile.d2d = profile.d2h = {0, 1e6};
  return profile;
}

runtime::Timeline pass(Transport transport, StrategyKind strategy, double holds) {
  Passes passes{{1, {5, 5}, 8, 8, 4, ElementType::kFp32, {1, 2, 1}}, {strategy}, 1};
  passes.options.transport = transport;
  return make_passes(sim::make_sim_engine(machine(holds), {}, 2), passes).timeline;
}

std::int64_t microseconds(Transport transport, StrategyKind strategy, double holds) {
  return pass(transport, strategy, holds).end / 1000;
}

// A head packs and merges for 2 us (its own part and the other rank's): 6 us for Q, K and V, 2 for
// the output. It crosses for 30 us and 10.
constexpr std::int64_t kCopied = 30 + 100 + 10;
constexpr std::int64_t kPacked = 6 + 30 + 100 + 10 + 2;

TEST(PersistentAttentionTest, InOneStreamTheTransportsDifferByPackingAlone) {
  for (const double holds : {1.0, 0.0}) {
    EXPECT_EQ(microseconds(Transport::kPeer, StrategyKind::kChunkSequential, holds), 4 * kCopied);
    EXPECT_EQ(microseconds(Transport::kNccl, StrategyKind::kChunkSequential, holds), 4 * kPacked);
  }
}

TEST(PersistentAttentionTest, CopiesOverlapWithIt) {
  for (const double holds : {1.0, 0.0}) {  // the first scatter and the last gather are exposed
    EXPECT_EQ(microseconds(Transport::kPeer, StrategyKind::kChunkOverlap, holds), 30 + 400 + 10);
  }
}

TEST(PersistentAttentionTest, KernelsOverlapOnlyWithAnAttentionThatLeavesThemRoom) {
  EXPECT_EQ(microseconds(Transport::kNccl, StrategyKind::kChunkOverlap, 0.5),
            6 + 30 + 400 + 10 + 2);
}

/// Start and end in microseconds of rank 0's operations of that name.
Times times_of(const runtime::Timeline& timeline, std::string_view name) {
  Times times;
  for (const runtime::Operation& operation : timeline.operations) {
    if (operation.name != name || operation.host != 0) continue;
    times.emplace_back(operation.start / 1000, operation.end / 1000);
  }
  return times;
}

// The exchange of the second band is enqueued before the first attention, but its rows are not
// packed yet when that can start; so it comes in only when the attention has drained, and the
// second attention waits for it. The third band fares likewise. What packs and merges comes in
// between two attentions, and keeps the next one out meanwhile.
TEST(PersistentAttentionTest, KernelsBesideItWaitUntilItDrains) {
  const runtime::Timeline packed = pass(Transport::kNccl, StrategyKind::kChunkOverlap, 1);
  EXPECT_EQ(times_of(packed, "scatter_pack"), (Times{{0, 6}, {36, 48}, {208, 214}}));
  EXPECT_EQ(times_of(packed, "scatter_exchange"), (Times{{6, 36}, {148, 208}, {414, 444}}));
  EXPECT_EQ(times_of(packed, "attention"), (Times{{48, 148}, {214, 414}, {444, 544}}));
  EXPECT_EQ(times_of(packed, "gather_exchange"), (Times{{148, 158}, {414, 434}, {544, 554}}));
  EXPECT_EQ(packed.end / 1000, 556);

  const runtime::Timeline copied = pass(Transport::kPeer, StrategyKind::kChunkOverlap, 1);
  EXPECT_EQ(times_of(copied, "attention"), (Times{{30, 130}, {130, 330}, {330, 430}}));
}

}  // namespace
}  // namespace syncopate::ulysses
