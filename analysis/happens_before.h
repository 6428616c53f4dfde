// Happens-before: replays a timeline's calls with vector clocks and hands every operation that
// touches memory to an AccessHistory, with all that must have ended before it begins.
//
// Threads are the hosts, the streams, and the lanes of graphs. Order comes from these rules alone:
//
//   program     a host's calls and spans run in the order of its log
//   enqueue     a command starts after the host has made the call
//   stream      a command starts after the one before it in its stream
//   wait        a command kWait holds its stream until the target position is reached;
//               a target of sequence 0 (a never-recorded event) orders nothing
//   flag        kWaitFlag for v comes after the signal with the least value >= v: a flag's values
//               grow from 0, so that one is the first to let it pass (0 needs none)
//   block       after kBlock or kSeen the host is after the target position
//   graph       a launch's nodes come after what its command comes after, and after the nodes that
//               they list; the command ends when all of them have. Signals and waits by value
//               inside a graph follow the flag rule at their own place in it, with the values of
//               that launch
//
// Calls marked implicit (legacy default stream, pageable copies) count as the others. Lane 0 of a
// graph is the launching stream itself; lane n is a thread of its own for each stream, since
// launches of one stream follow each other. What a launch as a whole touches (its workspace) lasts
// from its start to its end and does not conflict with its own nodes.
//
// Several hosts' logs have no order between them, so the replay is a data flow: a stream or host
// stops at a wait whose target has not been replayed and goes on when it has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/access_history.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// Replays once. Thread-compatible; holds references to both arguments.
class HappensBefore {
 public:
  /// Throws InvalidTimelineError when the timeline has no calls' detail or contradicts itself.
  HappensBefore(const runtime::Timeline& timeline, AccessHistory& history);

  /// Throws InvalidTimelineError, or UnsatisfiedWaitError when a wait is never met.
  void replay();

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using Snapshot = std::uint32_t;  // index of a stored clock

  /// The clock at a position of a stream. Only a stream's waits change what it knows of others, so
  /// positions between two waits share a snapshot and differ in the stream's own tick.
  struct Reached {
    Tick tick = 0;
    Snapshot others = kNone;
  };

  /// A command that the host has enqueued and its stream has not come to.
  struct Pending {
    std::uint32_t call;
    Snapshot host;
  };

  struct StreamState {
    std::vector<Reached> reached;  // by sequence; [0] is the beginning
    std::vector<Pending> pending;
    std::size_t next_pending = 0;
    bool changed = true;             // knows more of others than its newest snapshot
    std::uint16_t host = 0;          // the host whose clock it has taken over …
    std::uint64_t host_version = 0;  // … and which version of it
    Thread first_lane = 0;           // lane n > 0 of graphs is thread first_lane + n - 1
    std::uint32_t lanes = 0;
    // The launch that is under way, when a wait by value inside holds it.
    bool in_graph = false;
    std::vector<char> node_done;
    std::vector<Tick> node_clocks;
  };

  struct HostState {
    std::uint32_t next = 0;  // into the calls
    std::uint32_t end = 0;
    std::uint64_t version = 1;  // counts changes of its clock
    Snapshot snapshot = kNone;
    std::uint64_t snapshot_version = 0;
  };

  struct Signal {
    runtime::Flag flag;
    std::uint64_t value = 0;
    runtime::Stream stream;
    Snapshot clock = kNone;  // kNone until it has been replayed

    friend bool operator<(const Signal& a, const Signal& b) {
      return a.flag != b.flag ? a.flag < b.flag : a.value < b.value;
    }
  };

  // Set-up.
  void find_hosts();
  void find_threads();
  void collect_signals();
  void count_launches();

  // Clocks.
  Thread thread_of(runtime::Stream stream) const { return host_count_ + stream.id; }
  Tick* clock_of(Thread thread) { return &clocks_[std::size_t{thread} * width_]; }
  const Tick* stored(Snapshot snapshot) const { return &stored_[std::size_t{snapshot} * width_]; }
  Snapshot store(const Tick* clock);
  bool join(Tick* clock, const Tick* other) const;
  bool join(Tick* clock, runtime::Position target) const;
  bool is_reached(runtime::Position target) const;
  Signal* signal_for(runtime::Flag flag, std::uint64_t value);
  bool is_set(runtime::Flag flag, std::uint64_t value);
  bool join(Tick* clock, runtime::Flag flag, std::uint64_t value);
  void signal(runtime::Flag flag, std::uint64_t value, const Tick* clock);

  // Replay. The functions that return bool return false when they have to be called again later.
  void advance_host(std::uint32_t host);
  void advance_stream(std::uint32_t stream);
  bool run_call(std::uint32_t host, std::uint32_t index);
  void enqueue(std::uint32_t host, std::uint32_t index);
  bool run_command(const runtime::Call& call);
  bool run_graph(runtime::Stream stream, std::uint32_t operation);
  bool run_node(runtime::Stream stream, std::uint32_t operation, std::uint32_t node);
  std::uint64_t value_of(const runtime::GraphNodeInfo& node, std::uint32_t operation) const {
    return node.value + (node.cycle == 0 ? 0 : node.cycle * launches_before_[operation]);
  }
  void visit(std::uint32_t operation, Thread thread, Tick* clock);

  const runtime::Operation& operation_of(const runtime::Call& call) const;
  const runtime::GraphInfo& graph_of(std::uint32_t operation) const;
  void check_stream(runtime::Position position) const;
  std::string stuck_streams_and_hosts();
  std::string wait_of(const runtime::Call& call);

  const runtime::Timeline& timeline_;
  AccessHistory& history_;
  std::uint32_t host_count_;
  std::uint32_t width_ = 0;  // number of threads
  std::uint64_t done_ = 0;   // calls, commands and nodes replayed
  std::vector<HostState> hosts_;
  std::vector<StreamState> streams_;
  std::vector<Tick> ticks_;   // each thread's newest
  std::vector<Tick> clocks_;  // of hosts and streams, a row each
  std::vector<Tick> stored_;
  std::vector<Signal> signals_;  // sorted
  bool signals_collected_ = false;
  std::vector<std::uint32_t> launches_before_;  // by operation, where flags in graphs advance
};

}  // namespace syncopate::analysis
