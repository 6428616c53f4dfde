// How every run ends, whatever its program.
#pragma once

#include <span>

#include "backend/runtime/runtime.h"
#include "experiments/run/run.h"

namespace syncopate::experiments {

/// Runs the mains to their end, or to an error, which goes into the result with the timeline.
void run_to_end(runtime::Runtime& runtime, std::span<const runtime::HostMain> mains,
                RunResult& result);

/// The result of a run that came to its end. Throws InterruptedRun with that of any other.
RunResult finished(RunResult result);

}  // namespace syncopate::experiments
