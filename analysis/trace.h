// Traces: a timeline in the layout that PyTorch's profiler writes (Chrome trace events as Kineto
// writes them, gzip), for Perfetto and for tools that read PyTorch's traces.
//
// Rows. A host has a row in the process `process`: its steps (`ProfilerStep#N`, from the host's
// first operation of step N to its first of the next, category user_annotation), its spans
// (cpu_op) and its calls (cuda_runtime; cuda_driver for flags). A device is a process of its own,
// whose pid is the device's number, with a row for each stream (kernel, gpu_memcpy) and one for
// what was waited for (cuda_sync). The legacy default stream is stream 7, as in PyTorch; others
// count from 13. A graph's nodes are kernels of its launch: those captured in its first lane stand
// in the launching stream's row, those of further lanes in rows of their own, so that slices of a
// row never overlap. Where nodes have no times, the whole launch is one kernel.
//
// Order. Each call has a correlation id, which what it started carries too; a launch and each slice
// that it started are joined by an `ac2g` flow. A call's id is the same whatever the window.
//
// Times. Microseconds with three decimals: the timeline's nanoseconds, exactly. A timeline knows
// the order of records, waits and queries but not their times: they stand, with no duration, at the
// end of the timed call before them. In cuda_sync, `Event Sync` and `Stream Sync` are the times
// that a host was blocked, and `Stream Wait Event` is the wait of a stream, put where its call is;
// none of them is device work.
//
// Activities. In a timeline that has them, the calls, kernels and copies are those that were
// recorded, with their names, times and correlation ids. An operation of which something was
// recorded is a cpu_op on its host's row, around its calls, and a gpu_user_annotation on its
// stream's, from its first kernel or copy to its last; each kernel says its operation, in a graph
// the node. Kernels of a graph whose node is known stand in the rows of its lanes, work in streams
// that are not the program's in rows of their own. An operation of which nothing was recorded is
// written as without activities.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/step_range.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

struct TraceOptions {
  StepRange window = kAllSteps;  ///< What is written.
  /// The pid of the hosts' rows. One that is a device's is raised past them.
  std::int64_t process = 0;
  std::string device = "device";  ///< What the devices are: the name in deviceProperties.
};

/// Writes `timeline`, which must have Detail::kAll, to `file`, in one pass and through a buffer of
/// fixed size: memory does not grow with the run. The same timeline and options give the same
/// bytes. What was at `file` is lost when writing fails. Throws FileError, which names the file,
/// and InvalidTimelineError.
void write_trace(const runtime::Timeline& timeline, const std::filesystem::path& file,
                 const TraceOptions& options = {});

}  // namespace syncopate::analysis
