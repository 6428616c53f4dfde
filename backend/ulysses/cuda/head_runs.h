// Query heads of a band as runs that one call of a library can take: each run has the same number
// of query heads for each of its K/V heads.
#pragma once

#include <array>
#include <cstdint>

#include "backend/ulysses/attention.h"

namespace syncopate::ulysses::cuda {

struct HeadRun {
  std::uint32_t query = 0, query_count = 0;  ///< Among the band's query heads …
  std::uint32_t kv = 0, kv_count = 0;        ///< … and its K/V heads.
};

struct HeadRuns {
  std::array<HeadRun, 3> runs;
  std::uint32_t count = 0;

  const HeadRun* begin() const { return runs.data(); }
  const HeadRun* end() const { return runs.data() + count; }
};

/// One run where the band begins and ends with its groups; else the rest of the first group, whole
/// groups, and the beginning of the last, as far as there are any.
HeadRuns head_runs(const AttentionBand& band);

}  // namespace syncopate::ulysses::cuda
