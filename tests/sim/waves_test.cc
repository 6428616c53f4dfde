// Kernels of waves of tiles: what attention over whole sequences takes.
#include "tests/sim/virtual_machine.h"

namespace syncopate::sim {
namespace {

/// Tiles of 128 tokens, 10 at once; a wave takes 100 us at 1,000 KV tokens, 300 at 2,000.
HardwareProfile waves() {
  HardwareProfile profile;
  profile.kernel(Work::kAttention).base_us = 7;
  profile.kernel(Work::kAttention).waves = WaveCost{128, 10, {{1'000, 100}, {2'000, 300}}};
  return profile;
}

Cost attention(std::uint32_t heads, std::uint32_t tokens, bool causal = false) {
  Cost cost;
  cost.work = Work::kAttention;
  cost.rows = heads;
  cost.tokens = heads * tokens;
  cost.max_kv_tokens = tokens;
  const std::uint64_t all = tokens;
  cost.attention_pairs = heads * (causal ? all * (all + 1) / 2 : all * all);
  return cost;
}

Nanos takes(const Cost& cost) {
  VirtualMachine machine(waves());
  const Stream stream = machine.stream();
  machine.run([&](Host& host) { host.launch(stream, "attention", cost, {}, idle_kernel()); });
  const Operation operation = machine.find("attention");
  return operation.end - operation.start;
}

TEST(Waves, TheLastOneTakesAsLongAsAFullOne) {
  // 1,000 tokens are 8 tiles a head.
  EXPECT_EQ(takes(attention(1, 1'000)), 107'000);
  EXPECT_EQ(takes(attention(2, 1'000)), 207'000);  // 16 tiles: 2 waves
  EXPECT_EQ(takes(attention(5, 1'000)), 407'000);  // 40: 4
  EXPECT_EQ(takes(attention(6, 1'000)), 507'000);  // 48: 5
}

TEST(Waves, AreLinearBetweenPointsAndProportionalOutsideThem) {
  EXPECT_EQ(takes(attention(1, 500)), 57'000);             // 4 tiles: 1 wave
  EXPECT_EQ(takes(attention(1, 1'250)), 7'000 + 150'000);  // 10 tiles: 1 wave
  EXPECT_EQ(takes(attention(1, 2'000)), 7'000 + 2 * 300'000);
  EXPECT_EQ(takes(attention(1, 4'000)), 7'000 + 4 * 600'000);
}

TEST(Waves, OfCausalAttentionTakeTheShareThatIsAttendedTo) {
  // 500,500 of 1,000,000 pairs.
  EXPECT_EQ(takes(attention(1, 1'000, /*causal=*/true)), 7'000 + 50'050);
}

TEST(Waves, WithoutMeaningAreRefused) {
  const auto refused = [](const WaveCost& cost) {
    HardwareProfile profile;
    profile.kernel(Work::kAttention).waves = cost;
    EXPECT_THROW(make_sim_engine(profile, {}, 1), runtime::UsageError);
  };
  refused({128, 10, {}});
  refused({0, 10, {{1, 1}}});
  refused({128, 0, {{1, 1}}});
  refused({128, 10, {{0, 1}}});
  refused({128, 10, {{1, -1}}});
  refused({128, 10, {{2, 1}, {2, 1}}});
}

}  // namespace
}  // namespace syncopate::sim
