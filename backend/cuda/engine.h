// The CUDA engine: runs programs on the GPUs of this machine.
#pragma once

#include <memory>
#include <optional>

#include "backend/cuda/activity_recorder.h"
#include "backend/runtime/engine.h"

namespace syncopate::cuda {

/// CUDA devices that this process can use; 0 when there is no device or no driver.
int visible_devices();

struct CudaOptions {
  int devices = 1;
  /// GPUs that they are spread over: device d is GPU d mod gpus. 0: a GPU each. Fewer GPUs than
  /// devices are for tests: ranks that share one also share its time.
  int gpus = 0;
  std::optional<ActivityOptions> activities = {};  ///< To have kernels and calls in the timeline.
};

/// An engine of `options.devices` devices, one host thread each. Throws UnavailableError
/// ("no CUDA device ...") when there are too few GPUs, and UsageError while another engine exists:
/// what a capture forbids it forbids all of a process.
///
/// Streams, events, the legacy default stream and graphs are CUDA's own, since their rules are what
/// the front end follows. What is particular to this engine:
/// - Operations get their times from timing events (stamps.h), on the host's clock; the nodes of a
///   graph keep kUnknownTime.
/// - Flags live in pinned memory. Streams write and wait for them by stream memory operations,
///   which take no SM. Values stay below 2^63.
/// - A GPU has 32 queues (CUDA_DEVICE_MAX_CONNECTIONS, unless set before), and streams beyond them
///   share one, where a flag that holds one stream holds the others. Once there are flags, more
///   streams than queues on a GPU are therefore an UnavailableError.
/// - Kernels of a collective meet by themselves, as NCCL's do: the implicit signals and waits
///   around them are passed over.
/// - Waiting for a stream's position waits for all that the stream holds by then, and asking for
///   one answers for all of it.
/// - A kernel without a CUDA body is a UsageError, a kernel that cannot be launched an
///   OperationError, all else that CUDA refuses or reports later a CudaError (call.h).
/// - There is no DeadlockError: CUDA does not say what a stream waits for. A wait for a flag that
///   nothing signals blocks for good, unless a host fails: flags are then all released, so that
///   the others come to their end.
/// - CUDA loads a kernel at its first launch and may then wait for all that runs. A program whose
///   running work waits for a kernel that was never launched, through a flag, hangs: launch it once
///   before, or set CUDA_MODULE_LOADING=EAGER.
/// - With `activities` the timeline has what CUPTI recorded. That costs host time at each call, so
///   times of such a run explain, and those of one without are measured.
/// - Devices of one engine reach each other's memory directly where the machine allows it.
std::unique_ptr<runtime::Engine> make_cuda_engine(const CudaOptions& options);

}  // namespace syncopate::cuda
