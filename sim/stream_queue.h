// A stream as the simulator keeps it: commands in plain records, and who waits for them.
#pragma once

#include <cstdint>

#include "backend/runtime/command.h"
#include "sim/cost_model.h"
#include "sim/ring.h"

namespace syncopate::sim {

/// One command, reduced to what its run needs.
struct StreamCommand {
  runtime::Nanos arrival = 0;  ///< When it is on the device: it starts no sooner.
  /// Kernel, copy: duration. Wait: position in stream `object`. Signal, wait by value: the value.
  std::uint64_t amount = 0;
  std::uint32_t object = 0;     ///< The stream, flag or graph it is about; kernel: its meeting.
  std::uint32_t operation = 0;  ///< Among the operations of `host`.
  std::uint32_t effect = 0;     ///< Kernel, copy: handle of Effects. Graph: its launch.
  runtime::Command::Type type = runtime::Command::Type::kKernel;
  runtime::Work work = runtime::Work::kNone;
  CopyEngine engine = CopyEngine::kH2D;
  std::uint8_t host = 0;
};
static_assert(sizeof(StreamCommand) == 32);

/// A list of waiters threaded through the waiters themselves: each waits for one thing at a time.
inline constexpr std::uint32_t kNoWaiter = UINT32_MAX;

/// A cache line each, so that finding one is a shift.
struct alignas(64) StreamQueue {
  Ring<StreamCommand> pending;  ///< Not yet done, in order; only the first may be running.
  std::uint64_t done = 0;       ///< Commands done: the position that is reached.
  std::uint32_t device = 0;
  bool busy = false;      ///< The first command runs, or waits for something that wakes it.
  bool arriving = false;  ///< An event for the first command's arrival is pending.
  std::uint32_t first_waiter = kNoWaiter;  ///< Hosts and streams that wait for a position here.
  std::uint32_t last_waiter = kNoWaiter;

  std::uint64_t enqueued() const { return done + pending.size(); }
};

}  // namespace syncopate::sim
