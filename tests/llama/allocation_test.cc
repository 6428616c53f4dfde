// A steady step of the transformer allocates nothing in the invariant mode. Counted by replacing
// operator new, which the sanitizers replace themselves: not built under them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "backend/models/llama/llama.h"
#include "sim/sim_engine.h"
#include "tests/batching/counted_allocations.h"
#include "tests/batching/workload.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint32_t kSteps = 200;
constexpr std::uint32_t kWarm = 20;  // all slots used, graphs captured

LlamaConfig small() {
  LlamaConfig config;
  config.vocab = 97;  // plain_workload()'s
  config.hidden = 32;
  config.layers = 2;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 16;
  config.intermediate = 48;
  config.max_position = 256;
  return config;
}

/// Allocations from the end of step kWarm to the end of the last one.
std::uint64_t allocations_when_steady(std::unique_ptr<runtime::Engine> engine, bool invariant,
                                      bool graphs) {
  const auto model = make_llama(small(), 1, {.invariant = invariant});
  const batching::Workload workload = batching::plain_workload(8, 4, kSteps);
  std::vector<std::uint64_t> seen;
  seen.reserve(kSteps);
  batching::BatcherOptions options;
  options.graphs = graphs;
  options.on_step = [&seen](std::uint64_t, std::uint64_t) { seen.push_back(allocations.load()); };
  runtime::Runtime runtime(std::move(engine));
  batching::Batcher batcher(runtime, runtime::Device{0}, *model, workload.limits, options,
                            workload.requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);
  return seen.at(kSteps - 1) - seen.at(kWarm);
}

TEST(LlamaAllocation, ASteadyStepAllocatesNothing) {
  for (const bool graphs : {false, true}) {
    SCOPED_TRACE(graphs ? "graphs" : "no graphs");
    EXPECT_EQ(allocations_when_steady(cpu::make_cpu_engine({}, 1), true, graphs), 0U);
    EXPECT_EQ(allocations_when_steady(sim::make_sim_engine({}, {}, 1), true, graphs), 0U);
  }
}

// What libtorch makes of a tensor over our memory: the count sees the bodies on the stream's
// thread.
TEST(LlamaAllocation, TheCountSeesWhatTheFastModeAllocates) {
  EXPECT_GT(allocations_when_steady(cpu::make_cpu_engine({}, 1), false, true), 0U);
}

}  // namespace
}  // namespace syncopate::models::llama

#endif
