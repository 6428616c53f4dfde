// What asynchronous batching would give an engine of which only a step's two halves are known.
#pragma once

#include <cstdint>
#include <vector>

namespace syncopate::experiments {

/// Of one step of an engine that takes turns: it works on the host, then on the device. In ms.
struct StepHalves {
  double host_ms = 0;    ///< All of the host's work, launches included.
  double device_ms = 0;  ///< From the first kernel's start to the last one's end.
  double launch_ms = 0;  ///< Of host_ms, what one launch of a graph would save. 0: not known.
  double jitter = 0;     ///< Each half is drawn from 1 - jitter to 1 + jitter times its value.
};

struct Prediction {
  bool async = false;
  std::uint32_t slots = 1;
  bool graphs = false;
  double step_ms = 0;  ///< Mean.
  double device_active_pct = 0;
};

/// How long a step takes with the strategies of the batching program, of 4,096 steps in virtual
/// time on a machine where nothing else takes any: `ordered`, and `async` with two and with three
/// slots; where `launch_ms` is known, all of them with graphs as well. Copies take no time here:
/// where they take long, two slots may not be enough. The host's work is what
/// comes before a step: how it divides into that and what comes behind makes no difference once
/// steps follow each other. Without jitter an ordered step is the sum of both halves and an
/// asynchronous one the longer of them. Throws runtime::UsageError for what is no time (negative,
/// not finite, longer than 10 s), launches longer than the host's work, and jitter outside 0 to
/// 0.99.
std::vector<Prediction> predict_strategies(const StepHalves& halves);

}  // namespace syncopate::experiments
