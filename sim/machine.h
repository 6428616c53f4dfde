// Machine: the devices in virtual time. It takes streams' commands, runs events in order, stamps
// operations, and wakes hosts that wait for positions. It knows no clock but that of its events.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/runtime/command.h"
#include "backend/runtime/timeline.h"
#include "sim/cost_model.h"
#include "sim/effects.h"
#include "sim/event_queue.h"
#include "sim/fluid.h"
#include "sim/graph_program.h"
#include "sim/hosts.h"
#include "sim/stream_queue.h"

namespace syncopate::sim {

/// Not thread-safe. Waits and signals are commands without events: whoever they hold is on the list
/// of what holds it, and goes on in the instant it may. No allocation once every queue has been as
/// long as it ever will be.
class Machine {
 public:
  /// `effects` is null when they are off. All must outlive the machine.
  Machine(const CostModel& costs, Hosts& hosts, Effects* effects, int devices);

  void add_stream(std::uint32_t stream, std::uint32_t device);
  void add_flag(std::uint32_t flag);
  void add_meeting(std::uint32_t meeting, std::uint32_t ranks);
  void add_graph(std::uint32_t graph, GraphProgram program);
  GraphProgram& graph(std::uint32_t graph) { return graphs_[graph]; }
  /// Where the operations of `host` are, to stamp.
  void attach(int host, runtime::Log<runtime::Operation>& operations);

  const StreamQueue& stream(std::uint32_t stream) const { return streams_[stream]; }
  /// Arrivals of a stream never decrease, and none is before the events done so far.
  void enqueue(std::uint32_t stream, const StreamCommand& command);

  bool reached(runtime::Position position) const {
    return streams_[position.stream.id].done >= position.sequence;
  }
  /// Wakes `host` when `position`, which is not reached yet, is.
  void wake_at(int host, runtime::Position position);
  /// Wakes `host`, which is blocked, once `flag` is at least `value`, which it is not.
  void wake_at_flag(int host, std::uint32_t flag, std::uint64_t value) {
    hold_for_flag(pack(Kind::kHost, static_cast<std::uint32_t>(host)), flag, value);
  }
  bool is_set(std::uint32_t flag, std::uint64_t value) const { return flags_[flag].value >= value; }

  /// Whether no event is pending.
  bool idle() const { return events_.empty(); }
  /// The time of the next event; there must be one.
  runtime::Nanos next_time() { return events_.top().time; }
  /// Takes the next event and all that follows from it in the same instant.
  void step();
  /// The time of the last event.
  runtime::Nanos now() const { return now_; }

  /// Whether all that was enqueued is done.
  bool drained() const;
  /// Where each stream with pending commands stands and what its first one waits for.
  std::string positions() const;

 private:
  // What an event, a kernel or a copy is about: a number with its kind in the low bits.
  enum class Kind : std::uint32_t { kStream, kNode, kGraph, kCopyEngine, kFluid, kHandOver, kHost };
  static constexpr std::uint32_t kKindBits = 3;
  static std::uint32_t pack(Kind kind, std::uint32_t index) {
    return index << kKindBits | static_cast<std::uint32_t>(kind);
  }
  static Kind kind_of(std::uint32_t task) {
    return static_cast<Kind>(task & ((1u << kKindBits) - 1));
  }
  static std::uint32_t index_of(std::uint32_t task) { return task >> kKindBits; }

  struct Waiter {
    std::uint32_t next = kNoWaiter;
    std::uint64_t sequence = 0;
  };
  struct FlagState {
    struct Waiter {
      std::uint64_t value;
      std::uint32_t task;
    };
    std::uint64_t value = 0;
    std::vector<Waiter> waiters;
  };
  // Kernels of one collective: those that wait for others to come, then those that wait for others
  // to end. No rank comes to the next one before it has left.
  struct MeetingState {
    std::uint32_t ranks = 0;
    std::vector<std::uint32_t> come, left;  // tasks
  };
  struct PendingCopy {
    std::uint32_t task;
    runtime::Nanos duration;
  };
  struct CopyState {
    bool busy = false;
    PendingCopy current{};
    Ring<PendingCopy> waiting;
  };
  static constexpr runtime::Nanos kNotYet = -1;
  static constexpr std::uint32_t kNoMeeting = runtime::Meeting::kNone;
  struct KindOfKernel {
    std::uint32_t unfinished = 0;    // run, or wait for slots
    runtime::Nanos ended = kNotYet;  // the last one
  };
  struct Device {
    Fluid fluid;
    std::array<KindOfKernel, runtime::kWorkKinds> kinds;  // while pauses count
    runtime::Nanos fluid_event = kNever;  // the newest one pending; older ones are void
    std::array<CopyState, kCopyEngines> copies;
  };

  void after(runtime::Nanos delay, Kind kind, std::uint32_t index) {
    events_.push(now_ + delay, pack(kind, index));
  }

  // Streams.
  void advance(std::uint32_t stream);
  void complete_first(std::uint32_t stream);
  void add_waiter(std::uint32_t stream, std::uint32_t waiter, std::uint64_t sequence);
  void wake_waiters(StreamQueue& stream);
  void hand_over(std::uint32_t stream);  // go_on(), once the stream has heard of it
  void go_on(std::uint32_t stream);      // what held its first command holds it no more

  // Tasks: the first command of a stream, or a node.
  void task_started(std::uint32_t task);
  void task_ended(std::uint32_t task) {
    task_done(task);
    leave_task(task);
  }
  void task_done(std::uint32_t task);   // its outputs are there
  void leave_task(std::uint32_t task);  // what comes behind it may start
  void run_kernel(std::uint32_t task, std::uint32_t device, runtime::Work work,
                  std::uint32_t meeting, runtime::Nanos duration);
  void kernel_started(std::uint32_t task);
  void kernel_ended(std::uint32_t task);
  void run_copy(std::uint32_t task, std::uint32_t device, CopyEngine engine,
                runtime::Nanos duration);
  runtime::Nanos begin_of_kind(Device& device, runtime::Work work);  // what a pause adds to it
  void end_of_kind(Device& device, std::uint32_t task);
  bool hold_for_flag(std::uint32_t task, std::uint32_t flag, std::uint64_t value);
  void set_flag(std::uint32_t flag, std::uint64_t value);

  // Devices.
  void begin_copy(std::uint32_t engine, const PendingCopy& copy);
  CopyState& copy_state(std::uint32_t engine) {
    return devices_[engine / kCopyEngines].copies[engine % kCopyEngines];
  }
  void end_copy(std::uint32_t engine);
  void end_kernels(std::uint32_t device);
  void schedule_fluid(std::uint32_t index);

  // Graphs.
  void launch_graph(std::uint32_t stream, const StreamCommand& command);
  void begin_graph(std::uint32_t graph);
  void start_node(std::uint32_t node);
  void end_node(std::uint32_t node);
  void end_graph(std::uint32_t graph);

  GraphProgram& graph_of(std::uint32_t node) { return graphs_[graph_of_node_[node]]; }
  const GraphProgram& graph_of(std::uint32_t node) const { return graphs_[graph_of_node_[node]]; }
  // Null where nothing is logged.
  runtime::Operation* operation_of(const StreamCommand& command, std::uint32_t offset = 0) const {
    runtime::Log<runtime::Operation>* operations = operations_[command.host];
    if (operations == nullptr || command.operation == runtime::Command::kNoOperation) {
      return nullptr;
    }
    const std::size_t index = std::size_t{command.operation} + offset;
    return index < operations->size() ? &(*operations)[index] : nullptr;
  }
  runtime::Operation* operation_of(std::uint32_t task);
  std::uint32_t effect_of(std::uint32_t task);
  std::uint32_t meeting_of(std::uint32_t task) const;  // kNoMeeting: not of a collective
  std::uint32_t device_of(std::uint32_t task) const;
  std::string describe(const StreamQueue& stream) const;
  std::string describe_graph(std::uint32_t graph) const;
  std::string describe_meeting(std::uint32_t task) const;

  const CostModel& costs_;
  Hosts& hosts_;
  Effects* effects_;
  runtime::Nanos now_ = 0;
  EventQueue events_;
  std::vector<StreamQueue> streams_;
  std::vector<Waiter> waiters_;   // hosts, then streams
  Ring<std::uint32_t> runnable_;  // streams to advance in this instant
  std::vector<FlagState> flags_;
  std::vector<MeetingState> meetings_;
  std::vector<Device> devices_;
  bool fluids_changed_ = false;  // in this instant
  std::vector<GraphProgram> graphs_;
  std::vector<std::uint32_t> graph_of_node_;
  std::vector<runtime::Log<runtime::Operation>*> operations_;  // by host
};

}  // namespace syncopate::sim
