// A captured step serves only batches of its key: each key gets a graph of its own, in each slot.
#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <tuple>

#include "sim/sim_engine.h"
#include "tests/batching/workload.h"

namespace syncopate::batching {
namespace {

struct BakedArgs {
  const models::BatchLayout* layout;
  models::StepBuffers buffers;
  std::uint32_t rows;
  std::uint32_t tokens;
};

// A model whose graphs are bound to padded sizes, as CUDA kernels with fixed grids are: replayed
// for a batch of other sizes it writes a wrong id. What it says is 1 for every row.
void baked_forward(runtime::Exec& exec, const BakedArgs& args) {
  const models::BatchView batch(exec.data<const std::int32_t>(args.buffers.inputs), *args.layout);
  auto* out = exec.data<std::int32_t>(args.buffers.outputs);
  const bool fits =
      std::bit_ceil(batch.rows()) == args.rows && std::bit_ceil(batch.tokens()) == args.tokens;
  for (std::uint32_t row = 0; row < batch.rows(); ++row) out[row] = fits ? 1 : 0;
}

class BakedModel final : public models::Model {
 public:
  const char* kind() const override { return "baked"; }
  std::uint32_t vocab() const override { return 1000; }
  std::uint32_t max_positions() const override { return 1000; }
  std::uint64_t kv_page_bytes(const models::BatchLimits& limits) const override {
    return limits.page_tokens * std::uint64_t{4};
  }
  std::uint64_t kv_entry_bytes() const override { return 4; }
  std::uint64_t workspace_bytes(const models::BatchLimits&) const override { return 0; }
  models::GraphKey graph_key(std::uint32_t rows, std::uint32_t tokens,
                             std::uint32_t) const override {
    return {std::bit_ceil(rows), std::bit_ceil(tokens), 0};
  }
  runtime::Kernel forward(const models::BatchLayout& layout, const models::StepBuffers& buffers,
                          const models::GraphKey& key) const override {
    const BakedArgs args{&layout, buffers, key.rows, key.tokens};
    return {runtime::Body::of<baked_forward>(args), {}};
  }
};

TEST(GraphKeyTest, EachKeyHasAGraphOfItsOwnInEachSlot) {
  const Workload workload = random_workload(11);
  const BakedModel model;
  runtime::Runtime runtime(sim::make_sim_engine({}, {}, 1));
  Batcher batcher(runtime, runtime::Device{0}, model, workload.limits, {}, workload.requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);
  for (std::uint32_t i = 0; i < workload.requests.size(); ++i) {
    for (const std::int32_t id : batcher.result(i).tokens) EXPECT_EQ(id, 1) << "request " << i;
  }
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> keys;
  for (const StepRecord& step : batcher.steps()) {
    keys.insert({step.slot, std::bit_ceil(step.rows), std::bit_ceil(step.tokens)});
  }
  EXPECT_GT(keys.size(), 2U);
  EXPECT_EQ(runtime.timeline().graphs.size(), keys.size());
}

}  // namespace
}  // namespace syncopate::batching
