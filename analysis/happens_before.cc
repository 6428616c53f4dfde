#include "analysis/happens_before.h"

#include <algorithm>

#include "analysis/error.h"

namespace syncopate::analysis {

using runtime::Call;
using runtime::CallType;
using runtime::GraphInfo;
using runtime::GraphNodeInfo;
using runtime::NodeType;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Position;
using runtime::Stream;

namespace {

bool is_node(const Operation& op, const Operation& launch, std::uint32_t index) {
  return op.kind == OperationKind::kGraphNode && op.node == index && op.graph == launch.graph &&
         op.stream == launch.stream;
}

InvalidTimelineError mismatch(const Call& call) {
  return InvalidTimelineError("a call of host " + std::to_string(call.host) +
                              " and its operation " + std::to_string(call.operation) +
                              " do not fit together");
}

}  // namespace

HappensBefore::HappensBefore(const runtime::Timeline& timeline, AccessHistory& history)
    : timeline_(timeline),
      history_(history),
      host_count_(timeline.hosts),
      hosts_(timeline.hosts),
      streams_(timeline.streams.size()) {
  if (timeline.detail != runtime::Detail::kAll) {
    throw InvalidTimelineError("the timeline holds times only: record the run with all detail");
  }
  find_hosts();
  find_threads();
  for (StreamState& stream : streams_) stream.reached.push_back({});
  stored_.reserve(timeline.calls.size() / 2 * width_);
  const Snapshot nothing = store(clocks_.data());  // all zero
  for (StreamState& stream : streams_) stream.reached[0].others = nothing;
}

// -- set-up ---------------------------------------------------------------------------------------

void HappensBefore::find_hosts() {
  const auto& calls = timeline_.calls;
  for (auto first = calls.begin(); first != calls.end();) {
    const std::uint16_t host = first->host;
    if (host >= host_count_) {
      throw InvalidTimelineError("a call of host " + std::to_string(host) + " of " +
                                 std::to_string(host_count_));
    }
    // Calls are grouped by host; run_call() finds out where they are not.
    const auto last =
        std::partition_point(first, calls.end(), [host](const Call& c) { return c.host == host; });
    if (hosts_[host].end != 0) {
      throw InvalidTimelineError("the calls of host " + std::to_string(host) +
                                 " are not in one piece");
    }
    hosts_[host].next = static_cast<std::uint32_t>(first - calls.begin());
    hosts_[host].end = static_cast<std::uint32_t>(last - calls.begin());
    first = last;
  }
}

void HappensBefore::find_threads() {
  bool several_lanes = false;
  bool flags = false;
  bool advance = false;
  for (const GraphInfo& graph : timeline_.graphs) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const GraphNodeInfo& node = graph.nodes[i];
      several_lanes |= node.lane > 0;
      flags |= node.type == NodeType::kSignal || node.type == NodeType::kWaitFlag;
      advance |= node.cycle != 0;
      for (const std::uint16_t before : node.after) {
        if (before >= i) {
          throw InvalidTimelineError("graph '" + graph.label + "': node " + std::to_string(i) +
                                     " comes after node " + std::to_string(before));
        }
      }
    }
  }
  width_ = host_count_ + static_cast<std::uint32_t>(streams_.size());
  if (several_lanes) {
    for (std::uint32_t i = 0; i < timeline_.operations.size(); ++i) {
      const Operation& op = timeline_.operations[i];
      if (op.kind != OperationKind::kGraph || op.stream.id >= streams_.size()) continue;
      std::uint32_t& lanes = streams_[op.stream.id].lanes;
      for (const GraphNodeInfo& node : graph_of(i).nodes) {
        lanes = std::max<std::uint32_t>(lanes, node.lane);
      }
    }
    for (StreamState& stream : streams_) {
      stream.first_lane = width_;
      width_ += stream.lanes;
    }
  }
  ticks_.resize(width_);
  clocks_.resize((host_count_ + streams_.size()) * std::max(width_, 1U));
  if (advance) count_launches();
  if (flags) collect_signals();
}

// Of one graph all launches are one host's, in the order of its operations.
void HappensBefore::count_launches() {
  std::vector<std::uint32_t> so_far(timeline_.graphs.size(), 0);
  launches_before_.resize(timeline_.operations.size());
  for (std::uint32_t i = 0; i < timeline_.operations.size(); ++i) {
    if (timeline_.operations[i].kind != OperationKind::kGraph) continue;
    graph_of(i);  // throws where there is none
    launches_before_[i] = so_far[timeline_.operations[i].graph.id]++;
  }
}

// Which signal lets a wait by value pass is known only from all of the flag's signals, whichever of
// them is replayed first. Programs without flags never get here.
void HappensBefore::collect_signals() {
  signals_collected_ = true;
  for (const Call& call : timeline_.calls) {
    if (call.type == CallType::kSignal) {
      signals_.push_back({call.flag, call.value, call.at.stream});
    } else if (call.type == CallType::kEnqueue &&
               operation_of(call).kind == OperationKind::kGraph) {
      for (const GraphNodeInfo& node : graph_of(call.operation).nodes) {
        if (node.type == NodeType::kSignal) {
          signals_.push_back({node.flag, value_of(node, call.operation), call.at.stream});
        }
      }
    }
  }
  std::stable_sort(signals_.begin(), signals_.end());
  // A value that is signalled again by its stream, as by a graph's second launch, adds nothing.
  const auto same = [](const Signal& a, const Signal& b) {
    if (a < b || b < a) return false;
    if (a.stream == b.stream) return true;
    throw InvalidTimelineError("flag " + std::to_string(a.flag.id) + " is set to " +
                               std::to_string(a.value) + " by two streams");
  };
  signals_.erase(std::unique(signals_.begin(), signals_.end(), same), signals_.end());
}

// -- clocks ---------------------------------------------------------------------------------------

HappensBefore::Snapshot HappensBefore::store(const Tick* clock) {
  const auto snapshot = static_cast<Snapshot>(width_ == 0 ? 0 : stored_.size() / width_);
  stored_.insert(stored_.end(), clock, clock + width_);
  return snapshot;
}

bool HappensBefore::join(Tick* clock, const Tick* other) const {
  Tick changed = 0;
  for (std::uint32_t i = 0; i < width_; ++i) {
    const Tick newest = std::max(clock[i], other[i]);
    changed |= newest ^ clock[i];
    clock[i] = newest;
  }
  return changed != 0;
}

bool HappensBefore::join(Tick* clock, Position target) const {
  const Reached& reached = streams_[target.stream.id].reached[target.sequence];
  const bool changed = join(clock, stored(reached.others));
  Tick& tick = clock[thread_of(target.stream)];
  if (tick >= reached.tick) return changed;
  tick = reached.tick;
  return true;
}

bool HappensBefore::is_reached(Position target) const {
  return target.sequence < streams_[target.stream.id].reached.size();
}

HappensBefore::Signal* HappensBefore::signal_for(runtime::Flag flag, std::uint64_t value) {
  if (!signals_collected_) collect_signals();
  const auto found =
      std::lower_bound(signals_.begin(), signals_.end(), Signal{flag, value, Stream{}, kNone});
  return found == signals_.end() || found->flag != flag ? nullptr : &*found;
}

bool HappensBefore::is_set(runtime::Flag flag, std::uint64_t value) {
  if (value == 0) return true;
  const Signal* const entry = signal_for(flag, value);
  return entry != nullptr && entry->clock != kNone;
}

bool HappensBefore::join(Tick* clock, runtime::Flag flag, std::uint64_t value) {
  return value != 0 && join(clock, stored(signal_for(flag, value)->clock));
}

void HappensBefore::signal(runtime::Flag flag, std::uint64_t value, const Tick* clock) {
  Signal* const entry = signal_for(flag, value);
  if (entry->clock == kNone) entry->clock = store(clock);
}

// -- replay ---------------------------------------------------------------------------------------

void HappensBefore::replay() {
  std::uint64_t before = 0;
  do {
    before = done_;
    for (std::uint32_t host = 0; host < host_count_; ++host) advance_host(host);
    for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) advance_stream(stream);
  } while (done_ != before);
  const std::string stuck = stuck_streams_and_hosts();
  if (!stuck.empty()) throw UnsatisfiedWaitError("waits that nothing satisfies: " + stuck);
}

void HappensBefore::advance_host(std::uint32_t host) {
  HostState& state = hosts_[host];
  for (; state.next != state.end; ++state.next, ++done_) {
    if (!run_call(host, state.next)) return;
  }
}

bool HappensBefore::run_call(std::uint32_t host, std::uint32_t index) {
  const Call& call = timeline_.calls[index];
  HostState& state = hosts_[host];
  if (call.host != host) {
    throw InvalidTimelineError("the calls of host " + std::to_string(host) +
                               " are not in one piece");
  }
  switch (call.type) {
    case CallType::kRecord:
      break;  // waits name the position that they are bound to
    case CallType::kWait:
      if (call.target.sequence == 0) break;  // on a never-recorded event: not in the stream
      check_stream(call.target);
      enqueue(host, index);
      break;
    case CallType::kEnqueue:
    case CallType::kSignal:
    case CallType::kWaitFlag:
      enqueue(host, index);
      break;
    case CallType::kBlock:
    case CallType::kSeen:
      if (call.target.sequence == 0) break;
      check_stream(call.target);
      if (!is_reached(call.target)) return false;
      if (join(clock_of(host), call.target)) ++state.version;
      break;
    case CallType::kBlockFlag:
      if (!is_set(call.flag, call.value)) return false;
      if (join(clock_of(host), call.flag, call.value)) ++state.version;
      break;
    case CallType::kSpan: {
      const Operation& op = operation_of(call);
      if (op.kind != OperationKind::kHostSpan || op.host != host) throw mismatch(call);
      if (op.access_count == 0) break;
      visit(call.operation, host, clock_of(host));
      ++state.version;
      break;
    }
  }
  return true;
}

void HappensBefore::enqueue(std::uint32_t host, std::uint32_t index) {
  const Call& call = timeline_.calls[index];
  check_stream(call.at);
  HostState& from = hosts_[host];
  StreamState& stream = streams_[call.at.stream.id];
  if (!stream.pending.empty()) {
    if (from.snapshot_version != from.version) {
      from.snapshot = store(clock_of(host));
      from.snapshot_version = from.version;
    }
    stream.pending.push_back({index, from.snapshot});
    return;
  }
  if (stream.host != host || stream.host_version != from.version) {
    stream.host = static_cast<std::uint16_t>(host);
    stream.host_version = from.version;
    stream.changed |= join(clock_of(thread_of(call.at.stream)), clock_of(host));
  }
  if (!run_command(call)) stream.pending.push_back({index, kNone});
}

void HappensBefore::advance_stream(std::uint32_t id) {
  StreamState& stream = streams_[id];
  for (; stream.next_pending != stream.pending.size(); ++stream.next_pending) {
    Pending& pending = stream.pending[stream.next_pending];
    if (pending.host != kNone) {
      stream.changed |= join(clock_of(thread_of(Stream{id})), stored(pending.host));
      pending.host = kNone;
    }
    if (!run_command(timeline_.calls[pending.call])) return;
  }
  stream.pending.clear();
  stream.next_pending = 0;
}

bool HappensBefore::run_command(const Call& call) {
  const Stream id = call.at.stream;
  StreamState& stream = streams_[id.id];
  Tick* const clock = clock_of(thread_of(id));
  switch (call.type) {
    case CallType::kWait:
      if (!is_reached(call.target)) return false;
      stream.changed |= join(clock, call.target);
      break;
    case CallType::kWaitFlag:
      if (!is_set(call.flag, call.value)) return false;
      stream.changed |= join(clock, call.flag, call.value);
      break;
    case CallType::kSignal:
      signal(call.flag, call.value, clock);
      break;
    default: {
      const Operation& op = operation_of(call);
      if (op.kind > OperationKind::kGraph || op.stream != id) throw mismatch(call);
      if (op.kind == OperationKind::kGraph) {
        if (!run_graph(id, call.operation)) return false;
      } else if (op.access_count != 0) {
        visit(call.operation, thread_of(id), clock);
      }
    }
  }
  if (call.at.sequence != stream.reached.size()) {
    throw InvalidTimelineError("stream '" + timeline_.streams[id.id].label + "': command " +
                               std::to_string(call.at.sequence) + " stands where command " +
                               std::to_string(stream.reached.size()) + " is due");
  }
  Snapshot others = stream.reached.back().others;
  if (stream.changed) {
    others = store(clock);
    stream.changed = false;
  }
  stream.reached.push_back({clock[thread_of(id)], others});
  ++done_;
  return true;
}

// Nodes run as soon as what they come after has run, not in the order of their capture: a wait by
// value in one lane must not hold the signal in another that answers it.
bool HappensBefore::run_graph(Stream id, std::uint32_t operation) {
  StreamState& stream = streams_[id.id];
  const std::vector<GraphNodeInfo>& nodes = graph_of(operation).nodes;
  if (!stream.in_graph) {
    stream.in_graph = true;
    stream.node_done.assign(nodes.size(), 0);
    stream.node_clocks.resize(nodes.size() * width_);
  }
  bool complete = false;
  for (bool progress = true; progress && !complete;) {
    progress = false;
    complete = true;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (stream.node_done[i]) continue;
      if (run_node(id, operation, i)) {
        stream.node_done[i] = 1;
        progress = true;
        ++done_;
      } else {
        complete = false;
      }
    }
  }
  if (!complete) return false;
  stream.in_graph = false;

  // The launch as a whole lasts from its beginning, whose clock this still is, to its end; its own
  // lanes are no strangers to it.
  Tick* const clock = clock_of(thread_of(id));
  for (std::uint32_t lane = 0; lane < stream.lanes; ++lane) {
    stream.changed |= clock[stream.first_lane + lane] != ticks_[stream.first_lane + lane];
    clock[stream.first_lane + lane] = ticks_[stream.first_lane + lane];
  }
  if (timeline_.operations[operation].access_count != 0) visit(operation, thread_of(id), clock);
  clock[thread_of(id)] = ticks_[thread_of(id)];
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    stream.changed |= join(clock, &stream.node_clocks[i * width_]);
  }
  return true;
}

bool HappensBefore::run_node(Stream id, std::uint32_t operation, std::uint32_t index) {
  StreamState& stream = streams_[id.id];
  const GraphNodeInfo& node = graph_of(operation).nodes[index];
  for (const std::uint16_t before : node.after) {
    if (!stream.node_done[before]) return false;
  }
  const bool waits = node.type == NodeType::kWaitFlag;
  const std::uint64_t value = value_of(node, operation);
  if (waits && !is_set(node.flag, value)) return false;

  const Tick* const base = clock_of(thread_of(id));
  Tick* const clock = &stream.node_clocks[std::size_t{index} * width_];
  std::copy(base, base + width_, clock);
  for (const std::uint16_t before : node.after) {
    join(clock, &stream.node_clocks[std::size_t{before} * width_]);
  }
  if (waits) join(clock, node.flag, value);
  if (node.type == NodeType::kSignal) signal(node.flag, value, clock);

  const std::size_t at = std::size_t{operation} + 1 + index;
  if (at >= timeline_.operations.size() ||
      !is_node(timeline_.operations[at], timeline_.operations[operation], index)) {
    throw InvalidTimelineError("operation " + std::to_string(operation) + " '" +
                               timeline_.operations[operation].name + "': node " +
                               std::to_string(index) + " does not follow it");
  }
  if (timeline_.operations[at].access_count != 0) {
    const Thread thread = node.lane == 0 ? thread_of(id) : stream.first_lane + node.lane - 1;
    visit(static_cast<std::uint32_t>(at), thread, clock);
  }
  return true;
}

void HappensBefore::visit(std::uint32_t operation, Thread thread, Tick* clock) {
  const Tick tick = ++ticks_[thread];
  history_.visit(operation, thread, tick, clock);
  clock[thread] = tick;
}

// -- what the timeline must hold ------------------------------------------------------------------

void HappensBefore::check_stream(Position position) const {
  if (position.stream.id < streams_.size()) return;
  throw InvalidTimelineError("a call names stream " + std::to_string(position.stream.id) + " of " +
                             std::to_string(streams_.size()));
}

const Operation& HappensBefore::operation_of(const Call& call) const {
  if (call.operation >= timeline_.operations.size()) {
    throw InvalidTimelineError("a call names operation " + std::to_string(call.operation) + " of " +
                               std::to_string(timeline_.operations.size()));
  }
  return timeline_.operations[call.operation];
}

const GraphInfo& HappensBefore::graph_of(std::uint32_t operation) const {
  const runtime::Graph graph = timeline_.operations[operation].graph;
  if (graph.id >= timeline_.graphs.size()) {
    throw InvalidTimelineError("operation " + std::to_string(operation) +
                               " launches a graph that is not there");
  }
  return timeline_.graphs[graph.id];
}

std::string HappensBefore::stuck_streams_and_hosts() {
  std::string text;
  const auto add = [&text](const std::string& who, const std::string& what) {
    text += (text.empty() ? "" : "; ") + who + " waits for " + what;
  };
  for (std::uint32_t id = 0; id < streams_.size(); ++id) {
    const StreamState& stream = streams_[id];
    if (stream.next_pending == stream.pending.size()) continue;
    const Call& call = timeline_.calls[stream.pending[stream.next_pending].call];
    add("stream '" + timeline_.streams[id].label + "' at command " +
            std::to_string(call.at.sequence),
        wait_of(call));
  }
  for (std::uint32_t host = 0; host < host_count_; ++host) {
    if (hosts_[host].next == hosts_[host].end) continue;
    add("host " + std::to_string(host), wait_of(timeline_.calls[hosts_[host].next]));
  }
  return text;
}

std::string HappensBefore::wait_of(const Call& call) {
  const auto flag = [this](runtime::Flag id, std::uint64_t value, const char* site) {
    return "flag " + std::to_string(id.id) + " >= " + std::to_string(value) + " (" + site + ")" +
           (signal_for(id, value) == nullptr ? ", which no signal sets" : "");
  };
  if (call.type == CallType::kWaitFlag || call.type == CallType::kBlockFlag) {
    return flag(call.flag, call.value, call.site);
  }
  if (call.type == CallType::kEnqueue) {  // a graph that a wait by value inside holds
    const std::vector<GraphNodeInfo>& nodes = graph_of(call.operation).nodes;
    for (const GraphNodeInfo& node : nodes) {
      const std::uint64_t value = value_of(node, call.operation);
      if (node.type == NodeType::kWaitFlag && !is_set(node.flag, value)) {
        return flag(node.flag, value, node.name) + " in graph '" + graph_of(call.operation).label +
               "'";
      }
    }
  }
  return "command " + std::to_string(call.target.sequence) + " of stream '" +
         timeline_.streams[call.target.stream.id].label + "' (" + call.site + ")";
}

}  // namespace syncopate::analysis
