// The engine: what one runtime supplies below the front end. Programs never see it.
//
// The front end (Host) has already bound waits to positions, applied the legacy default stream's
// rule (unless the engine has it natively), resolved capture and written the log. An engine
// supplies time, memory and the execution of commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "backend/runtime/command.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/timeline.h"

namespace syncopate::runtime {

/// The host time a call took.
struct Interval {
  Nanos begin = 0;
  Nanos end = 0;
};

/// What a host blocks on or queries: a position, and the event that stands for it if there is one.
struct SyncPoint {
  Position position;
  Event event;  ///< None when the host asked about a stream.
};

/// Host ids are device ids: host h is the one host thread of device h.
///
/// Thread-safety: creation calls come before run(), from one thread. Inside run(), calls for host h
/// come from host h's thread only; different hosts may call at the same time unless the engine runs
/// them one at a time.
class Engine {
 public:
  virtual ~Engine() = default;

  /// "sim", "cpu" or "cuda".
  virtual const char* name() const = 0;
  virtual int device_count() const = 0;

  // -- creation, before run() ----------------------------------------------------------------

  virtual void create_stream(Stream stream, StreamKind kind, Device device) = 0;
  virtual void create_event(Event event, Device device) = 0;
  /// `cycle` as in Runtime::make_flag.
  virtual void create_flag(Flag flag, std::uint64_t cycle) = 0;
  /// For an engine whose kernels meet by themselves: `ranks` come to each collective.
  virtual void create_meeting(Meeting /*meeting*/, std::uint32_t /*ranks*/) {}
  /// Zero-filled memory, owned by the engine. Returns its base for host access (pinned, pageable;
  /// device memory where the engine keeps that on the host) or null.
  virtual std::byte* allocate(Buffer buffer, Memory memory, std::uint64_t bytes, Device device) = 0;

  // -- memory, inside run() --------------------------------------------------------------------

  /// Frees the memory of `buffer`, which is device memory of `bytes` of host's device, and
  /// allocates it anew: what it holds is undefined. Nothing uses it, no graph knows it. Throws
  /// UnavailableError.
  virtual Interval renew(int host, Buffer buffer, std::uint64_t bytes) = 0;

  // -- capture -------------------------------------------------------------------------------

  /// True when the engine needs the captured calls themselves (CUDA): between begin_capture and
  /// end_capture every captured command also goes through enqueue(), record() and the like.
  virtual bool captures_natively() const { return false; }
  virtual void begin_capture(int /*host*/, Stream /*origin*/) {}
  /// Drops the capture under way on `host`: it failed.
  virtual void abandon_capture(int /*host*/) {}
  /// Keeps the script under `graph`.
  virtual void end_capture(int host, Graph graph, const GraphScript& script) = 0;

  // -- work ----------------------------------------------------------------------------------

  /// True when legacy-default-stream order needs no waits from the front end.
  virtual bool orders_default_stream_natively() const { return false; }
  /// Puts `command` into `stream` as its next command. Blocks while the launch queue is full, and
  /// until the copy is done when command.pageable.
  virtual Interval enqueue(int host, Stream stream, const Command& command) = 0;
  /// `event` now stands for `at`; inside a native capture, for the stream's place in the graph
  /// (then at.sequence says nothing).
  virtual Interval record(int host, Event event, Position at) = 0;
  /// Blocks the host until the point is reached. Throws OperationError when an operation failed,
  /// DeadlockError when nothing can reach it.
  virtual Interval block(int host, SyncPoint point) = 0;
  /// The same until `flag`, which has no cycle, is at least `value`.
  virtual Interval block(int host, Flag flag, std::uint64_t value) = 0;
  virtual bool reached(int host, SyncPoint point) = 0;

  // -- host time -----------------------------------------------------------------------------

  virtual Nanos now(int host) = 0;
  /// Keeps the host busy for `duration`.
  virtual Interval busy(int host, Nanos duration) = 0;
  virtual void sleep_until(int host, Nanos time) = 0;
  /// Brackets a host span: the span's work runs between the two calls. Virtual time charges `cost`,
  /// which is known once the work is done.
  virtual Nanos begin_span(int host, std::span<const Access> accesses) = 0;
  virtual Nanos end_span(int host, const Cost& cost) = 0;

  // -- the run -------------------------------------------------------------------------------

  /// Where the front end keeps host h's operations: virtual-time engines stamp them in place.
  virtual void attach(int host, Log<Operation>& operations) = 0;
  /// Runs main(h) for every host h to its end, then waits for all enqueued work. The first error of
  /// a host or an operation is thrown when all have stopped. Work done so far keeps its times.
  virtual void run(int hosts, const std::function<void(int host)>& main) = 0;
  /// Fills in start and end of host h's operations where attach() was not used to do so.
  virtual void stamp(int host, std::span<Operation> operations) = 0;
  /// Adds what the runtime's own profiler saw below the operations, if the engine was made to ask
  /// it. `timeline` is complete but for that.
  virtual void explain(Timeline& /*timeline*/) {}
  /// The time at which all was done. Valid after run().
  virtual Nanos end_time() const = 0;
};

}  // namespace syncopate::runtime
