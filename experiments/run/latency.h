// What a client sees: when its tokens come. A token is there when the host knows it.
#pragma once

#include <vector>

#include "analysis/percentiles.h"
#include "experiments/run/batching_result.h"

namespace syncopate::experiments {

/// Milliseconds from the request's arrival.
struct RequestLatency {
  double ttft = 0;  ///< Time to the first token.
  double tpot = 0;  ///< Time per output token after the first; 0 when there is only one.
  double end = 0;   ///< To the last token.
};

/// Of a request that has at least one token.
RequestLatency latency(const BatchingResult& run, const RequestRecord& request);

/// Gaps between successive tokens of every request, milliseconds. Rows of one step have the same.
std::vector<analysis::Weighted<double>> token_gaps(const BatchingResult& run);

}  // namespace syncopate::experiments
