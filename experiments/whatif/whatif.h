// What would a change give? A configuration's run in virtual time, again with one thing changed.
#pragma once

#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "experiments/config/load.h"

namespace syncopate::experiments {

/// A configuration of which no change can be tried.
class NoWhatIfError : public runtime::Error {
  using Error::Error;
};

struct Change {
  std::string what;  ///< "nothing", "host 2x faster", …
  double total_s = 0;
  double step_ms = 0;  ///< Mean.
  double device_active_pct = 0;
};

/// The run as it is, and with: the host's calls and work twice as fast, and half as fast; copies
/// that take no time; the device's kernels twice as fast; one more slot, where the strategy is
/// async. Each alone. Not graphs: a step is one kernel in virtual time, so what they save there
/// says nothing (predict.h takes it as a number). `config` is of the batching program with runtime
/// sim. Throws NoWhatIfError for another, and what run_config() does.
std::vector<Change> what_if(const ResolvedConfig& config);

}  // namespace syncopate::experiments
