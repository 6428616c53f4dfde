// Activity records: what CUPTI sees of kernels, copies, calls and waits while a program runs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/runtime/handles.h"
#include "backend/runtime/timeline.h"

namespace syncopate::cuda {

struct ActivityOptions {
  /// The steps of host 0 to record, both included; without a first one from the run's beginning.
  /// Recording ends when the device has done the last one's work, or with the run.
  std::int32_t first_step = runtime::kNoStep;
  std::int32_t last_step = INT32_MAX;
  /// All the room that there is: 256 MiB, of which only what is used is ever touched. A record
  /// takes 50 bytes (a call) to 250 (a kernel). What comes when it is full is dropped and counted.
  std::size_t buffers = 64;
  std::size_t buffer_bytes = std::size_t{4} << 20;
};

/// Why there can be no recorder: empty, or what is missing in this build.
std::string activities_missing();

/// One at a time in a process. start() and stop() may be called by any host's thread, the rest as
/// each says.
///
/// Records are kept as CUPTI writes them and looked at after the run; no thread of ours runs beside
/// it. CUPTI takes the host's times from the clock that the engine uses, and brings the device's
/// to it, so nothing is converted here.
class ActivityRecorder {
 public:
  virtual ~ActivityRecorder() = default;

  /// The calling thread is `host`'s; of other threads' calls only what they started is kept.
  virtual void name_host(int host) = 0;
  /// Before the run. The stream's device is the current one.
  virtual void name_stream(cudaStream_t native, runtime::Stream stream, int gpu) = 0;
  /// In a capture on `native`: what the graph has got since the last call is the work of the
  /// script's node `node`. The first of a capture is node 0.
  virtual void name_nodes(cudaStream_t native, std::uint16_t node) = 0;

  virtual void start() = 0;
  /// What is under way on the device may be lost.
  virtual void stop() = 0;

  /// After the run, the recorder stopped: what was recorded, in times since `origin`, with names
  /// that `timeline` keeps.
  virtual runtime::Activities take(runtime::Timeline& timeline, runtime::Nanos origin) = 0;
};

/// Throws UnavailableError without CUPTI, CudaError when CUPTI refuses (as it does when another
/// profiler is at work in this process).
std::unique_ptr<ActivityRecorder> make_activity_recorder(const ActivityOptions& options);

}  // namespace syncopate::cuda
