// The batcher with the hash model on a GPU: the same tokens as the model's definition gives, from
// every strategy, with and without graphs.
#include <string>

#include "analysis/races.h"
#include "tests/batching/workload.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::batching {
namespace {

class CudaBatching : public cuda::CudaTest {};

std::unique_ptr<runtime::Engine> engine() { return cuda::make_cuda_engine({}); }

BatcherOptions options_for(StrategyKind kind, std::uint32_t slots, bool graphs) {
  BatcherOptions options;
  options.strategy = kind;
  options.slots = slots;
  options.graphs = graphs;
  return options;
}

TEST_F(CudaBatching, EveryStrategyGivesTheModelsTokens) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Workload workload = random_workload(seed);
    const auto expected = expected_tokens(workload);
    for (const bool graphs : {false, true}) {
      for (const auto& [kind, slots] : {std::pair{StrategyKind::kDefaultStream, 1U},
                                        {StrategyKind::kOrdered, 1U},
                                        {StrategyKind::kAsync, 2U},
                                        {StrategyKind::kAsync, 3U}}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + to_string(kind) + ", " +
                     std::to_string(slots) + " slots, graphs " + std::to_string(graphs));
        const Outcome outcome = serve(engine(), workload, options_for(kind, slots, graphs));
        ASSERT_EQ(outcome.tokens, expected);
        ASSERT_TRUE(analysis::find_races(outcome.timeline).empty());
      }
    }
  }
}

TEST_F(CudaBatching, UnorderedHasItsRacesNamed) {
  const Workload workload = plain_workload(3, 4, 12);
  const Outcome outcome =
      serve(engine(), workload, options_for(StrategyKind::kUnordered, 1, false));
  const auto races = analysis::find_races(outcome.timeline);
  // Six kinds of pairs: the chain's three links, and the three reuses that hang on them. The first
  // three happen in each of 12 steps, the others between each two.
  EXPECT_EQ(analysis::summarize(outcome.timeline, races).size(), 6U);
  EXPECT_EQ(races.size(), 3U * 12 + 3 * 11);
}

TEST_F(CudaBatching, OperationsHaveTimesAndStepsFollowEachOther) {
  const Workload workload = plain_workload(4, 4, 20);
  const Outcome outcome = serve(engine(), workload, options_for(StrategyKind::kAsync, 2, true));
  runtime::Nanos last_end = 0;
  for (const runtime::Operation& operation : outcome.timeline.operations) {
    if (operation.kind != runtime::OperationKind::kGraph) continue;
    EXPECT_GE(operation.start, last_end);
    EXPECT_GT(operation.end, operation.start);
    last_end = operation.end;
  }
}

}  // namespace
}  // namespace syncopate::batching
