#include "backend/ulysses/cuda/head_runs.h"

#include <algorithm>

namespace syncopate::ulysses::cuda {

HeadRuns head_runs(const AttentionBand& band) {
  HeadRuns made;
  std::uint32_t query = 0, kv = 0;
  const auto add = [&](std::uint32_t query_count, std::uint32_t kv_count) {
    if (query_count == 0) return;
    made.runs[made.count++] = {query, query_count, kv, kv_count};
    query += query_count;
    kv += kv_count;
  };
  if (band.lead != 0) add(std::min(band.group - band.lead, band.query_heads), 1);
  const std::uint32_t groups = (band.query_heads - query) / band.group;
  add(groups * band.group, groups);
  add(band.query_heads - query, 1);
  return made;
}

}  // namespace syncopate::ulysses::cuda
