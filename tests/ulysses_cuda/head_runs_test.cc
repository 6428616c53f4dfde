// Bands as runs: every query head once, with the K/V head that it reads, and equal groups in a run.
#include "backend/ulysses/cuda/head_runs.h"

#include <gtest/gtest.h>

namespace syncopate::ulysses::cuda {
namespace {

TEST(HeadRunsTest, CoverEveryBandOfEveryGroupSize) {
  for (std::uint32_t group = 1; group <= 6; ++group) {
    for (std::uint32_t lead = 0; lead < group; ++lead) {
      for (std::uint32_t heads = 1; heads <= 20; ++heads) {
        AttentionBand band;
        band.group = group;
        band.lead = lead;
        band.query_heads = heads;
        band.kv_heads = (lead + heads - 1) / group + 1;
        std::uint32_t next = 0;
        for (const HeadRun& run : head_runs(band)) {
          ASSERT_EQ(run.query, next);
          ASSERT_GT(run.query_count, 0U);
          ASSERT_EQ(run.query_count % run.kv_count, 0U);
          ASSERT_LE(run.kv + run.kv_count, band.kv_heads);
          const std::uint32_t each = run.query_count / run.kv_count;
          for (std::uint32_t i = 0; i < run.query_count; ++i) {
            EXPECT_EQ(run.kv + i / each, (lead + run.query + i) / group)
                << group << ' ' << lead << ' ' << heads;
          }
          next += run.query_count;
        }
        EXPECT_EQ(next, heads);
        if (lead == 0 && heads % group == 0) {
          EXPECT_EQ(head_runs(band).count, 1U);
        }
      }
    }
  }
}

}  // namespace
}  // namespace syncopate::ulysses::cuda
