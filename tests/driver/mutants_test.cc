// The driver itself, put to the test: it must find every mistake that is made on purpose.
#include <gtest/gtest.h>

#include "tests/driver/campaign.h"
#include "tests/driver/mutation.h"

namespace syncopate::driver {
namespace {

constexpr std::uint64_t kSeeds = 2000;

TEST(MutantsTest, EachMistakeIsFoundWithin2000Seeds) {
  ASSERT_GE(mutations().size(), 15U);
  for (const Mutation& mutation : mutations()) {
    CampaignOptions options;
    options.play.removed_sites = switch_on(mutation);
    options.count = kSeeds;
    const auto failing = run_campaign(options);
    EXPECT_TRUE(failing) << mutation.name << " in " << mutation.place << " goes unnoticed";
  }
}

TEST(MutantsTest, WithoutAMistakeTheMutatedSourcesAreRight) {
  active_mutation = -1;
  CampaignOptions options;
  options.count = 200;
  const auto failing = run_campaign(options);
  EXPECT_FALSE(failing) << "seed " << failing->seed << ": " << failing->failure.text;
}

}  // namespace
}  // namespace syncopate::driver
