// Host: the host thread of one device, and all that it can ask of the runtime.
//
// The rules are CUDA's:
// - A stream runs its commands in order; different streams may overlap. launch, copy, record, wait
//   and signal return to the host at once and never wait for the device, except that a full launch
//   queue holds the host, and a copy from or to pageable memory returns only when it is done.
// - record(event, stream) marks the point behind all that is in the stream so far. The same event
//   may be recorded again: wait() and synchronize() bind to the newest record at the time of their
//   call and are not moved by later ones. On a never-recorded event both do nothing.
// - wait(stream, event) holds the stream, not the host.
// - The legacy default stream waits for all earlier work in the blocking streams of its device, and
//   later work in those waits for it. Non-blocking streams are not ordered against it at all.
// - Events order streams of one host. Waiting for another host's event needs the hosts to have met,
//   else the wait may come before the record and is no wait: use flags, which need no meeting.
// - In a capture: launch, copy, record, wait, signal and wait-by-value only, on streams joined to
//   the capture's origin by events; not on the legacy default stream. Waiting for an event of
//   outside, synchronizing, and leaving a forked stream unjoined are UsageErrors. A flag's value is
//   baked in, unless the flag has a cycle (Runtime::make_flag).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/runtime/command.h"
#include "backend/runtime/cost.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/runtime.h"

namespace syncopate::runtime {

/// Not thread-safe: each host uses its own. No call allocates once the logs have grown; logs grow
/// by doubling.
class Host {
 public:
  Host(Runtime& runtime, int id);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Device device() const { return Device{static_cast<std::uint32_t>(id_)}; }

  /// A hint: about this many operations, and with Detail::kAll accesses, will be logged. The logs
  /// then need not grow. Memory that stays unused costs nothing: it is mapped on first touch.
  void reserve(std::size_t operations, std::size_t accesses);

  /// Marks what follows as part of the program's step `step` (kNoStep: of none).
  void set_step(std::int32_t step) { step_ = step; }

  // -- device work ---------------------------------------------------------------------------

  void launch(Stream stream, Name name, const Cost& cost, std::span<const Access> accesses,
              const Kernel& kernel);
  /// A kernel that every rank of `meeting` launches. It begins its work when all have come to it,
  /// and what is behind it in any rank's stream comes after the work of all: that order is in the
  /// log as implicit signals and waits. Until all have come it holds what a running kernel holds. A
  /// rank's collectives of one meeting are ordered, and the same for all ranks. On cuda the body
  /// must keep its part, as NCCL's kernels do. Throws UsageError when this device is not of it.
  void collective(Stream stream, Name name, const Cost& cost, std::span<const Access> accesses,
                  const Kernel& kernel, Meeting meeting);
  /// Copies src to dst, which must be of the same shape (width and rows). The direction follows
  /// from where the buffers live.
  void copy(Stream stream, Name name, const Region& dst, const Region& src);

  /// Gives a device buffer of this host's device new memory, as a program does that allocates in
  /// each call: the old is freed, what the new holds is undefined. All that touches the buffer must
  /// be over, and hosts that will touch it must know: where it is, is looked up when an operation
  /// is enqueued. Throws UsageError once a graph has been captured that touches it.
  void renew(Buffer buffer, Name name);

  // -- order ---------------------------------------------------------------------------------

  void record(Event event, Stream stream, Site site);
  void wait(Stream stream, Event event, Site site);
  /// Sets `flag` to `value` when all earlier work of `stream` is done. Values must grow.
  void signal(Stream stream, Flag flag, std::uint64_t value, Site site);
  /// Holds `stream` until `flag` is at least `value`; the signal may come later, from any host.
  void wait(Stream stream, Flag flag, std::uint64_t value, Site site);

  /// Blocks this host until the event's newest record is reached.
  void synchronize(Event event, Site site);
  /// Blocks this host until all that is in the stream so far is done.
  void synchronize(Stream stream, Site site);
  /// Blocks this host, and no stream, until `flag` is at least `value`; the signal may come later,
  /// from any host. So hosts meet where nothing on a device may be held meanwhile. Throws
  /// UsageError for a flag with a cycle.
  void synchronize(Flag flag, std::uint64_t value, Site site);
  /// Whether the event's newest record is reached (true if there is none).
  bool query(Event event, Site site);

  // -- graphs --------------------------------------------------------------------------------

  /// Captures what `body(*this)` enqueues on `origin` and the streams it forks from there. The
  /// graph's scratch memory is `workspace` (may be none): every launch counts as writing all of it,
  /// so that launches which share one and may overlap are reported as a race.
  template <class Fn>
  Graph capture(Stream origin, Buffer workspace, std::string label, Fn&& body) {
    begin_capture(origin, workspace);
    try {
      std::forward<Fn>(body)(*this);
      return end_capture(std::move(label));
    } catch (...) {
      abandon_capture();
      throw;
    }
  }
  /// Launches a graph. `args` are in the order of their node numbers; nodes not named keep the
  /// costs and accesses of their capture.
  void launch(Graph graph, Stream stream, Name name, std::span<const NodeArgs> args);

  // -- the host's own time ---------------------------------------------------------------------

  /// Host work: `fn()` does it and returns what it was (a Cost). Measured on a real runtime,
  /// charged by the cost in virtual time. It declares what it touches of pinned and pageable
  /// buffers.
  template <class Fn>
  void span(Name name, std::span<const Access> accesses, Fn&& fn) {
    const Nanos begin = begin_span(accesses);
    const Cost cost = std::forward<Fn>(fn)();
    end_span(name, cost, begin, accesses);
  }
  /// Keeps the host busy for `duration`, as work would.
  void busy(Name name, Nanos duration);
  Nanos now();
  void sleep_until(Nanos time);

 private:
  friend class Runtime;

  using NodeList = std::vector<std::uint16_t>;
  struct StreamState {
    std::uint64_t sequence = 0;         // commands enqueued so far
    std::uint64_t seen_by_default = 0;  // how far the legacy default stream has waited for it
    std::uint64_t default_seen = 0;     // how far it has waited for the legacy default stream
    std::int32_t lane = -1;             // in the capture under way; -1: not part of it
    NodeList tail;                      // nodes that the next captured node comes after
  };
  struct EventState {
    Position position;          // sequence 0: never recorded
    std::int32_t capture = -1;  // the capture that it was last recorded in; -1: outside
    NodeList tail;              // what it stands for in that capture
  };
  struct GraphState {
    Graph graph;
    Buffer workspace;
    GraphScript script;
    std::uint64_t launches = 0;
  };

  Nanos begin_span(std::span<const Access> accesses);
  void end_span(Name name, const Cost& cost, Nanos begin, std::span<const Access> accesses);
  void begin_capture(Stream origin, Buffer workspace);
  void abandon_capture();
  void leave_capture();
  Graph end_capture(std::string label);

  void launch_kernel(Stream stream, Name name, const Cost& cost, std::span<const Access> accesses,
                     const Kernel& kernel, Meeting meeting);
  void meet(Stream stream, Meeting meeting, std::uint64_t value);
  bool left_out(Site site) const;
  bool captured(Stream stream, const char* call);
  void refuse_in_capture(const char* call) const;
  void check_region(const Region& region, Name name) const;
  OperationKind copy_kind(const Region& dst, const Region& src, Name name) const;
  GraphNode& add_node(Stream stream, NodeType type, OperationKind kind, Name name);
  void use_flag(NodeType use, Stream stream, Flag flag, std::uint64_t value, Site site,
                bool implicit = false);
  void order_with_default(Stream stream);
  void hold(Stream stream, Position target, Event event, Site site, bool implicit);
  Position put(Stream stream, const Command& command);
  Call& log(CallType type, Site site);
  std::uint32_t add_operation(OperationKind kind, Name name, Stream stream,
                              std::span<const Access> accesses);
  void enqueue(Stream stream, Command& command);
  void block(SyncPoint point, Site site);
  void blocked(std::uint32_t operation, const Interval& spent);

  Runtime& runtime_;
  Engine& engine_;
  int id_;
  std::int32_t step_ = kNoStep;
  bool log_all_;

  bool filters_sites_;
  bool has_default_;

  std::vector<StreamState> streams_;
  std::vector<EventState> events_;
  std::vector<GraphState> graphs_;
  std::vector<std::uint64_t> collectives_;  // by meeting: so far

  // This host's part of the timeline.
  Log<Operation> operations_;
  Log<Call> calls_;
  Log<Access> accesses_;

  // The capture under way.
  std::int32_t captures_ = 0;  // begun so far
  std::int32_t capture_ = -1;  // the number of the one under way; -1: none
  Stream capture_origin_;
  Buffer capture_workspace_;
  std::int32_t capture_lanes_ = 0;
  GraphScript script_;
};

}  // namespace syncopate::runtime
