// What changes would give, on machines where it can be worked out.
#include "experiments/whatif/whatif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

/// Steps of 2 ms of the host and 6 ms of the device, of which a copy is 1 ms before it.
constexpr const char* kHalves = R"(
about: a host and a device
host: {kernel_launch_us: 0, graph_launch_us: 0, copy_us: 0, record_us: 0, wait_us: 0}
kernels: {forward: {base_us: 6000}, carry: {}}
spans: {prepare: {base_us: 2000}, update: {}}
h2d: {latency_us: 1000, gb_per_s: 1e6}
d2h: {latency_us: 0, gb_per_s: 1e6}
)";

constexpr const char* kSteps = R"(
program: batching
runtime: {kind: sim, profile: ./halves.yaml, effects: off}
model: {kind: hash}
strategy: {kind: ordered}
requests: {count: 1, prompt_tokens: 1, max_new_tokens: 1000}
limits: {rows: 1, tokens: 1, pages: 100}
)";

class WhatIfTest : public testing::Test {
 protected:
  std::map<std::string, double> step_ms(std::vector<std::string> sets) {
    std::map<std::string, double> out;
    for (const Change& change : what_if(load_config(config_, {std::move(sets), {}, false}))) {
      out[change.what] = change.step_ms;
    }
    return out;
  }
  const Scratch scratch_;
  const std::filesystem::path profile_ = scratch_.write("halves.yaml", kHalves);
  const std::filesystem::path config_ = scratch_.write("steps.yaml", kSteps);
};

TEST_F(WhatIfTest, OfTurnsEachPartAddsUp) {
  const auto steps = step_ms({});
  EXPECT_NEAR(steps.at("nothing"), 2 + 1 + 6, 0.02);
  EXPECT_NEAR(steps.at("host 2x faster"), 1 + 1 + 6, 0.02);
  EXPECT_NEAR(steps.at("host 2x slower"), 4 + 1 + 6, 0.02);
  EXPECT_NEAR(steps.at("copies free"), 2 + 6, 0.02);
  EXPECT_NEAR(steps.at("kernels 2x faster"), 2 + 1 + 3, 0.02);
  EXPECT_FALSE(steps.contains("one more slot"));
}

TEST_F(WhatIfTest, OfOverlapOnlyTheLongestPartCounts) {
  const auto steps = step_ms({"strategy.kind=async", "host.extra_us=6000"});
  EXPECT_NEAR(steps.at("nothing"), 8, 0.02);  // the host's 2 and 6
  EXPECT_NEAR(steps.at("host 2x faster"), 6, 0.02);
  EXPECT_NEAR(steps.at("host 2x slower"), 16, 0.05);
  EXPECT_NEAR(steps.at("copies free"), 8, 0.02);
  EXPECT_NEAR(steps.at("kernels 2x faster"), 8, 0.02);
  EXPECT_NEAR(steps.at("one more slot"), 8, 0.02);
}

TEST_F(WhatIfTest, WhatDoesNotRunInVirtualTimeIsRefused) {
  EXPECT_THROW(what_if(load_config(config_, {{}, "cpu", false})), NoWhatIfError);
}

}  // namespace
}  // namespace syncopate::experiments
