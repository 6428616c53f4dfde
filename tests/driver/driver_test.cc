// The driver's seeds, and what makes them worth something.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/run/engines.h"
#include "experiments/run/run.h"
#include "experiments/run/workload.h"
#include "tests/batching/variants.h"
#include "tests/driver/campaign.h"
#include "tests/driver/oracle.h"
#include "tests/driver/replay.h"
#include "tests/driver/shrink.h"
#include "tests/experiments/scratch.h"

namespace syncopate::driver {
namespace {

using experiments::RequestConfig;
using experiments::RuntimeKind;

std::vector<RequestConfig>& requests(Case& c) {
  return std::get<std::vector<RequestConfig>>(c.config.requests);
}

void expect_no_difference(RuntimeKind runtime, std::uint64_t seeds) {
  CampaignOptions options;
  options.play.runtime = runtime;
  options.count = seeds;
  const auto failing = run_campaign(options);
  ASSERT_FALSE(failing) << "seed " << failing->seed << ": " << failing->failure.text;
}

TEST(DriverTest, NoSeedGivesADifferenceInVirtualTime) {
  expect_no_difference(RuntimeKind::kSim, 6 * batching::seeds(500));
}

TEST(DriverTest, NoSeedGivesADifferenceOnThreads) {
  expect_no_difference(RuntimeKind::kCpu, std::min<std::uint64_t>(batching::seeds(300), 300));
}

#if SYNCOPATE_HAS_CUDA
TEST(DriverTest, NoSeedGivesADifferenceOnADevice) {
  if (const std::string missing = experiments::what_is_missing(RuntimeKind::kCuda);
      !missing.empty()) {
    GTEST_SKIP() << "skipped: " << missing;
  }
  expect_no_difference(RuntimeKind::kCuda, 500);
}
#endif

TEST(DriverTest, ASeedGivesTheSameCaseAndTheSameRunAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Case once = draw(seed);
    EXPECT_EQ(to_yaml(once.config), to_yaml(draw(seed).config));
    const Played first = play(once, false, {});
    const Played second = play(once, false, {});
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.steps, second.steps);
  }
}

// What is written for a failing case does what the driver did, cancellations by the clock included:
// so the configuration must say everything, the machine too.
TEST(DriverTest, TheReplayOfACaseHasItsDigestAndItsSteps) {
  const experiments::Scratch scratch;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Case c = draw(seed);
    for (const bool synchronous : {true, false}) {
      const Played played = play(c, synchronous, {});
      ASSERT_FALSE(played.failure) << "seed " << seed << ": " << played.failure->text;
      const auto file =
          write_replay(c, {synchronous, "none", "not at all"}, RuntimeKind::kSim, scratch.folder());
      const experiments::RunResult replayed = run_config(experiments::load_config(file));
      EXPECT_EQ(replayed.batching().tokens_digest, played.digest) << "seed " << seed;
      EXPECT_EQ(replayed.steps(), played.steps) << "seed " << seed;
    }
  }
}

TEST(DriverTest, TheReplayOfACaseOnThreadsHasTheSameTokens) {
  const experiments::Scratch scratch;
  Case c = draw(3);
  for (RequestConfig& request : requests(c)) {  // nothing that goes by the clock
    request.cancel_ms.reset();
    request.id.reset();
  }
  const auto file =
      write_replay(c, {false, "none", "not at all"}, RuntimeKind::kCpu, scratch.folder());
  EXPECT_EQ(run_config(experiments::load_config(file)).batching().tokens_digest,
            play(c, false, {}).digest);
}

// The seeds of a test run meet everything that there is to be met, many times.
TEST(DriverTest, TheCasesHoldWhatTheyAreFor) {
  std::map<std::string, int> met;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Case c = draw(seed);
    const auto& model = std::get<experiments::HashModelConfig>(c.config.model);
    for (const Answer& answer :
         answers(c.config, experiments::make_requests(c.config.requests, model.vocab),
                 *hash_speaker(model))) {
      ++met[to_string(answer.reason)];
      if (answer.may_be_cut) ++met["cancelled by the clock"];
      if (answer.may_be_refused) ++met["an id twice"];
    }
    for (const RequestConfig& request : requests(c)) {
      if (request.prompt->size() > c.config.limits.tokens) ++met["prompt longer than a step"];
      if (request.sampling.temperature > 0) ++met["sampled"];
      if (request.sampling.repetition_penalty != 1) ++met["penalty"];
    }
    ++met[c.config.runtime.chaos ? "chaos" : "no chaos"];
    ++met["slots " + std::to_string(*c.config.strategy.slots)];
  }
  for (const char* what :
       {"length", "eos", "stop", "cancelled", "refused", "cancelled by the clock", "an id twice",
        "prompt longer than a step", "sampled", "penalty", "chaos", "no chaos", "slots 2",
        "slots 3", "slots 4"}) {
    EXPECT_GT(met[what], 20) << what;
  }
}

TEST(ShrinkTest, LeavesWhatTheFailureNeedsAndNothingElse) {
  // "Fails" with a request of more than 5 tokens that samples, beside any other, in 3 slots or
  // more.
  const Fails fails = [](const Case& c) {
    Case copy = c;
    const auto needed = [](const RequestConfig& r) {
      return r.max_new_tokens > 5 && r.sampling.temperature > 0;
    };
    return requests(copy).size() >= 2 && std::ranges::any_of(requests(copy), needed) &&
           *c.config.strategy.slots >= 3;
  };
  int tried = 0;
  for (std::uint64_t seed = 1; tried < 5; ++seed) {
    const Case c = draw(seed);
    if (!fails(c)) continue;
    ++tried;
    Case small = shrink(c, fails);
    EXPECT_TRUE(fails(small));
    ASSERT_EQ(requests(small).size(), 2U);
    EXPECT_EQ(requests(small)[0].prompt->size() + requests(small)[1].prompt->size(), 2U);
    EXPECT_EQ(requests(small)[0].max_new_tokens + requests(small)[1].max_new_tokens, 7);
    EXPECT_EQ(*small.config.strategy.slots, 3U);
    EXPECT_EQ(small.config.limits.rows, 1U);
    EXPECT_FALSE(small.config.runtime.chaos);
  }
}

}  // namespace
}  // namespace syncopate::driver
