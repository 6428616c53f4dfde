// Activities: what a runtime's own profiler saw below the operations. One operation of the seam may
// be many kernels, and one call of a host several of the runtime's; an untraced run knows neither.
#pragma once

#include <cstdint>

#include "backend/runtime/handles.h"
#include "backend/runtime/log.h"

namespace syncopate::runtime {

enum class ActivityKind : std::uint8_t {
  kKernel,
  kCopy,
  kFill,         ///< The device set memory to a value.
  kRuntimeCall,  ///< A call of the host into the runtime's library …
  kDriverCall,   ///< … or past it into the driver.
  kSync,         ///< The host or a stream waited.
};

/// One record. Times are on the timeline's clock.
struct Activity {
  static constexpr std::uint32_t kNoOperation = UINT32_MAX;
  static constexpr std::uint16_t kNoNode = UINT16_MAX;

  Name name = "";
  ActivityKind kind = ActivityKind::kKernel;
  std::uint16_t device = 0;      ///< Where it ran; of calls and waits, whose host's it is.
  std::uint16_t node = kNoNode;  ///< In a graph: the script's node that it belongs to.
  std::uint32_t operation = kNoOperation;  ///< Index into Timeline::operations: what it is part of.
  std::uint32_t correlation = 0;    ///< The same number for a call and all that it started; else 0.
  Stream stream;                    ///< None when it is not one of the program's.
  std::uint32_t native_stream = 0;  ///< The profiler's own number of the stream.
  std::uint64_t bytes = 0;          ///< Copies and fills.
  Nanos start = 0;
  Nanos end = 0;
};

struct Timeline;

/// Finds out which operation each record belongs to, and sorts by operation and start; those of no
/// operation come last. A call belongs to the operation of its host within whose issue it lies
/// (both have the host's clock), what a call started to the call's operation.
void attach_activities(Log<Activity>& activities, const Timeline& timeline);

}  // namespace syncopate::runtime
