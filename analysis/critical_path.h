// The critical path: the chain of work and waits that a run's time is made of. Every nanosecond
// from the run's beginning to its end is one segment's, so what is not on the path did not hold the
// run up, and what is shows by how much.
//
// Found backwards from what ended last. An operation began when the last thing that it came after
// was done: the operation before it in its stream, what its stream's waits before it were bound to,
// or the host's call that enqueued it. (What it then still waited for, a copy engine or
// multiprocessors that others held, is its kGap.) A host went on when its call before had returned
// or, if that blocked, when what it blocked on was done. So the path is one of the run as it was:
// with something made faster, another may take its place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// What the time of a segment went to.
enum class PathUse : std::uint8_t {
  kDevice,    ///< A kernel, graph or copy ran.
  kHostSpan,  ///< Declared work of the host.
  kCall,      ///< A call that enqueues, or one that found nothing to wait for.
  kHost,      ///< The host between those: records, waits, and what the program does not declare.
  kLaunch,    ///< From the call's return to the operation's start, with nothing else to wait for.
  kGap,       ///< From the end of what a stream waited for to the operation's start.
  kWake,      ///< From the end of what a host blocked on to its going on.
};
/// "device", "host span", "call", "host", "launch", "gap" or "wake".
const char* to_string(PathUse use);

struct PathSegment {
  PathUse use = PathUse::kHost;
  std::uint32_t operation = 0;  ///< That it is of; of kHost the one that comes behind.
  runtime::Nanos begin = 0;
  runtime::Nanos end = 0;
};

/// In the order of time, without gaps, from 0 to the end of the last operation; segments have a
/// length. Empty where no operation has times. Throws InvalidTimelineError for a timeline without
/// calls, or whose calls contradict it.
std::vector<PathSegment> critical_path(const runtime::Timeline& timeline);

/// Segments of one use and one name, together.
struct PathShare {
  PathUse use = PathUse::kHost;
  runtime::OperationKind kind = runtime::OperationKind::kKernel;
  std::string name;  ///< Of the operation; empty for kHost.
  std::uint64_t count = 0;
  runtime::Nanos total = 0;
};

/// The most time first; of equal ones in the order of use and name.
std::vector<PathShare> path_shares(const runtime::Timeline& timeline,
                                   const std::vector<PathSegment>& path);

}  // namespace syncopate::analysis
