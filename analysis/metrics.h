// Metrics: how busy one device and its host were, and why the device was idle when it was.
//
// All times are exact whole nanoseconds of the run's clock, which begins at 0; only percentages and
// means are floating point. Operations without known times do not count. Works with either detail;
// where the calls are missing, waits for events cannot be told from launch latency.
#pragma once

#include <cstdint>

#include "analysis/percentiles.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// Why the device had no step to work on. Each gap before a step's device activity is cut at three
/// moments, each no earlier than the one before it and none past the gap's end: when the host's
/// call that issued the step's first operation returned; when the step's last H2D copy ended of
/// those that ended before that operation began; when the last operation ended that it had to wait
/// for, in its own stream or by an event. The rest is launch latency (and waits by value for other
/// devices).
struct IdleCauses {
  runtime::Nanos host = 0;        ///< The host had not issued the operation.
  runtime::Nanos copy = 0;        ///< It was issued, its step's inputs were still on their way.
  runtime::Nanos dependency = 0;  ///< Some other operation that it waits for had not ended.
  runtime::Nanos launch = 0;      ///< Nothing held it.
  runtime::Nanos drain = 0;       ///< After the last step's activity: last results, last update.

  runtime::Nanos total() const { return host + copy + dependency + launch + drain; }
  friend bool operator==(const IdleCauses&, const IdleCauses&) = default;
};

struct Metrics {
  runtime::Nanos total_time = 0;  ///< From 0 to the timeline's end.

  /// Union over steps of [first start, last end] of the step's kernels and graph launches on this
  /// device. Copies do not count; gaps inside a step count as active. A kernel or graph outside of
  /// any step counts by itself.
  runtime::Nanos device_active = 0;
  /// Union of all kernels and copies; gaps count as idle. Of a graph launch its nodes where their
  /// times are known (signals and waits left out), else the launch as a whole.
  runtime::Nanos kernel_active = 0;
  /// Total time less what the device's host was blocked.
  runtime::Nanos host_busy = 0;
  /// Adds up to total_time - device_active.
  IdleCauses idle;

  /// Time from one step's end of device activity to the next one's, steps in order of their number;
  /// one value fewer than there are steps with device activity.
  Distribution<runtime::Nanos> step_time;
  /// For each step the host's spans and the time inside its calls that issued device work. Blocking
  /// does not count.
  Distribution<runtime::Nanos> host_time;

  double percent(runtime::Nanos part) const {
    return total_time == 0 ? 0.0
                           : 100.0 * static_cast<double>(part) / static_cast<double>(total_time);
  }
  double device_active_pct() const { return percent(device_active); }
  double kernel_active_pct() const { return percent(kernel_active); }
  double host_busy_pct() const { return percent(host_busy); }
};

/// Metrics of device `device` and its host. Throws InvalidTimelineError when an operation names a
/// stream that is not there.
Metrics measure(const runtime::Timeline& timeline, std::uint16_t device = 0);

}  // namespace syncopate::analysis
