#include "backend/runtime/host.h"

#include <algorithm>
#include <string>

#include "backend/runtime/engine.h"
#include "backend/runtime/error.h"

namespace syncopate::runtime {
namespace {

constexpr Site kDefaultStreamRule = "legacy default stream";
constexpr Site kPageableCopy = "pageable copy";
constexpr Site kCollective = "collective";

void add_unique(std::vector<std::uint16_t>& nodes, std::span<const std::uint16_t> more) {
  for (const std::uint16_t node : more) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
}

}  // namespace

Host::Host(Runtime& runtime, int id)
    : runtime_(runtime),
      engine_(*runtime.engine_),
      id_(id),
      log_all_(runtime.options_.detail == Detail::kAll),
      filters_sites_(!runtime.options_.removed_sites.empty()),
      has_default_(static_cast<bool>(runtime.default_streams_[static_cast<std::size_t>(id)])),
      streams_(runtime.timeline_.streams.size()),
      events_(runtime.event_devices_.size()),
      collectives_(runtime.meetings_.size(), 0) {}

void Host::reserve(std::size_t operations, std::size_t accesses) {
  operations_.reserve(operations);
  if (!log_all_) return;
  calls_.reserve(2 * operations);  // an operation comes with about one record, wait or block
  accesses_.reserve(accesses);
}

// -- device work --------------------------------------------------------------------------------

void Host::launch(Stream stream, Name name, const Cost& cost, std::span<const Access> accesses,
                  const Kernel& kernel) {
  launch_kernel(stream, name, cost, accesses, kernel, Meeting{});
}

void Host::collective(Stream stream, Name name, const Cost& cost, std::span<const Access> accesses,
                      const Kernel& kernel, Meeting meeting) {
  const auto& ranks = runtime_.meetings_.at(meeting.id).ranks;
  if (std::find(ranks.begin(), ranks.end(), device()) == ranks.end()) {
    throw UsageError("collective '" + std::string(name) + "': device " + std::to_string(id_) +
                     " is not of this meeting");
  }
  const std::uint64_t number = ++collectives_[meeting.id];
  meet(stream, meeting, 2 * number - 1);
  launch_kernel(stream, name, cost, accesses, kernel, meeting);
  meet(stream, meeting, 2 * number);
}

// Flags only grow: to come to the n-th collective is 2n - 1, to have done one's part of it 2n.
void Host::meet(Stream stream, Meeting meeting, std::uint64_t value) {
  const auto& [ranks, flags] = runtime_.meetings_[meeting.id];
  const std::size_t count = ranks.size();
  const auto own =
      static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), device()) - ranks.begin());
  for (std::size_t other = 0; other < count; ++other) {
    if (other == own) continue;
    use_flag(NodeType::kSignal, stream, flags[other * count + own], value, kCollective, true);
  }
  for (std::size_t other = 0; other < count; ++other) {
    if (other == own) continue;
    use_flag(NodeType::kWaitFlag, stream, flags[own * count + other], value, kCollective, true);
  }
}

void Host::launch_kernel(Stream stream, Name name, const Cost& cost,
                         std::span<const Access> accesses, const Kernel& kernel, Meeting meeting) {
  Command command;
  command.type = Command::Type::kKernel;
  command.kind = OperationKind::kKernel;
  command.name = name;
  command.kernel = &kernel;
  command.cost = cost;
  command.meeting = meeting;
  command.accesses = accesses;
  if (captured(stream, "launch")) {
    GraphNode& node = add_node(stream, NodeType::kKernel, command.kind, name);
    node.kernel = kernel;
    node.cost = cost;
    node.meeting = meeting;
    node.accesses.assign(accesses.begin(), accesses.end());
    if (engine_.captures_natively()) engine_.enqueue(id_, stream, command);
    return;
  }
  enqueue(stream, command);
}

void Host::copy(Stream stream, Name name, const Region& dst, const Region& src) {
  Command command;
  command.type = Command::Type::kCopy;
  command.kind = copy_kind(dst, src, name);
  command.name = name;
  command.dst = dst;
  command.src = src;
  const auto memory_of = [&](const Region& r) {
    return runtime_.timeline_.buffers[r.buffer.id].memory;
  };
  command.pageable = memory_of(dst) == Memory::kPageable || memory_of(src) == Memory::kPageable;
  const Access accesses[2] = {access_of(src, /*write=*/false), access_of(dst, /*write=*/true)};
  command.accesses = accesses;
  if (captured(stream, "copy")) {
    if (command.pageable) {
      throw UsageError("copy '" + std::string(name) + "': pageable memory in a capture");
    }
    GraphNode& node = add_node(stream, NodeType::kCopy, command.kind, name);
    node.accesses.assign(std::begin(accesses), std::end(accesses));
    node.dst = dst;
    node.src = src;
    if (engine_.captures_natively()) engine_.enqueue(id_, stream, command);
    return;
  }
  enqueue(stream, command);
}

void Host::launch(Graph graph, Stream stream, Name name, std::span<const NodeArgs> args) {
  refuse_in_capture("launch of a graph");
  const auto found = std::find_if(graphs_.begin(), graphs_.end(),
                                  [graph](const GraphState& g) { return g.graph == graph; });
  if (found == graphs_.end()) throw UsageError("launch: not a graph of this host");
  GraphState& state = *found;

  Command command;
  command.type = Command::Type::kGraph;
  command.kind = OperationKind::kGraph;
  command.name = name;
  command.graph = graph;
  command.node_args = args;
  command.launch = state.launches;
  Access scratch;
  if (state.workspace) {
    scratch = write(state.workspace, 0, runtime_.timeline_.buffers[state.workspace.id].bytes);
    command.accesses = std::span(&scratch, 1);
  }

  order_with_default(stream);
  command.operation = add_operation(command.kind, name, stream, command.accesses);
  operations_[command.operation].graph = graph;
  if (log_all_) {
    std::size_t next_args = 0;
    for (std::size_t i = 0; i < state.script.nodes.size(); ++i) {
      const GraphNode& node = state.script.nodes[i];
      const std::uint32_t index =
          add_operation(OperationKind::kGraphNode, node.name, stream, node.accesses);
      Operation& operation = operations_[index];
      operation.kind_in_graph = node.kind;
      operation.node = static_cast<std::uint16_t>(i);
      operation.graph = graph;
      operation.bytes = node.dst.bytes();
      if (next_args < args.size() && args[next_args].node == i) {
        const std::span<const Access> extra = args[next_args++].extra;
        accesses_.insert(accesses_.end(), extra.begin(), extra.end());
        operation.access_count += static_cast<std::uint32_t>(extra.size());
      }
    }
    if (next_args != args.size()) {
      throw UsageError("launch of graph '" + state.script.label +
                       "': node arguments are out of order or past its last node");
    }
  }
  const Position at = put(stream, command);
  ++state.launches;
  if (log_all_) {
    Call& call = log(CallType::kEnqueue, "");
    call.operation = command.operation;
    call.at = at;
  }
}

void Host::renew(Buffer buffer, Name name) {
  refuse_in_capture("renew");
  const BufferInfo& info = runtime_.timeline_.buffers.at(buffer.id);
  if (info.memory != Memory::kDevice || info.device != id_) {
    throw UsageError("renew '" + std::string(name) + "': buffer '" + info.label +
                     "' is not memory of this host's device");
  }
  if (runtime_.in_graphs_[buffer.id]) {
    throw UsageError("renew '" + std::string(name) + "': a graph holds the address of buffer '" +
                     info.label + "'");
  }
  const Access whole = write(buffer, 0, info.bytes);
  const Interval spent = engine_.renew(id_, buffer, info.bytes);
  const std::uint32_t index =
      add_operation(OperationKind::kHostSpan, name, Stream{}, std::span(&whole, 1));
  Operation& operation = operations_[index];
  operation.issue_begin = operation.start = spent.begin;
  operation.issue_end = operation.end = spent.end;
  if (log_all_) log(CallType::kSpan, "").operation = index;
}

// -- order --------------------------------------------------------------------------------------

void Host::record(Event event, Stream stream, Site site) {
  if (left_out(site)) return;
  EventState& state = events_[event.id];
  if (captured(stream, "record")) {
    state.capture = capture_;
    state.tail = streams_[stream.id].tail;
    if (engine_.captures_natively()) engine_.record(id_, event, {stream, 0});
    return;
  }
  if (has_default_) order_with_default(stream);
  state.capture = -1;
  state.position = {stream, streams_[stream.id].sequence};
  engine_.record(id_, event, state.position);
  if (log_all_) {
    Call& call = log(CallType::kRecord, site);
    call.at = state.position;
    call.event = event;
  }
}

void Host::wait(Stream stream, Event event, Site site) {
  if (left_out(site)) return;
  const EventState& state = events_[event.id];
  StreamState& waiter = streams_[stream.id];
  if (capture_ >= 0 && state.capture == capture_) {
    if (waiter.lane < 0) waiter.lane = capture_lanes_++;  // the fork that draws a stream in
    add_unique(waiter.tail, state.tail);
    if (engine_.captures_natively()) {
      Command command;
      command.type = Command::Type::kWait;
      command.event = event;
      engine_.enqueue(id_, stream, command);
    }
    return;
  }
  if (waiter.lane >= 0) {
    throw UsageError("wait at " + std::string(site) +
                     ": a captured stream cannot wait for an event of outside the capture");
  }
  if (state.capture >= 0) {
    throw UsageError("wait at " + std::string(site) +
                     ": the event was last recorded inside a capture and marks no work");
  }
  if (state.position.sequence == 0) {  // never recorded: CUDA's rule is that this orders nothing
    if (log_all_) {
      Call& call = log(CallType::kWait, site);
      call.at = Position{stream, waiter.sequence};
      call.event = event;
    }
    return;
  }
  hold(stream, state.position, event, site, /*implicit=*/false);
}

void Host::signal(Stream stream, Flag flag, std::uint64_t value, Site site) {
  use_flag(NodeType::kSignal, stream, flag, value, site);
}

void Host::wait(Stream stream, Flag flag, std::uint64_t value, Site site) {
  use_flag(NodeType::kWaitFlag, stream, flag, value, site);
}

void Host::use_flag(NodeType use, Stream stream, Flag flag, std::uint64_t value, Site site,
                    bool implicit) {
  if (!implicit && left_out(site)) return;
  const bool signals = use == NodeType::kSignal;
  Command command;
  command.type = signals ? Command::Type::kSignal : Command::Type::kWaitFlag;
  command.name = site;
  command.flag = flag;
  command.value = value;
  command.implicit = implicit;
  if (captured(stream, signals ? "signal" : "wait")) {
    GraphNode& node = add_node(stream, use, OperationKind::kKernel, site);
    node.flag = flag;
    node.value = value;
    node.cycle = runtime_.flag_cycles_[flag.id];
    node.implicit = implicit;
    if (engine_.captures_natively()) engine_.enqueue(id_, stream, command);
    return;
  }
  order_with_default(stream);
  const Position at = put(stream, command);
  if (log_all_) {
    Call& call = log(signals ? CallType::kSignal : CallType::kWaitFlag, site);
    call.implicit = implicit;
    call.at = at;
    call.flag = flag;
    call.value = value;
  }
}

void Host::synchronize(Event event, Site site) {
  refuse_in_capture("synchronize");
  if (left_out(site)) return;
  const EventState& state = events_[event.id];
  if (state.position.sequence == 0) return;
  block({state.position, event}, site);
}

void Host::synchronize(Stream stream, Site site) {
  refuse_in_capture("synchronize");
  if (left_out(site)) return;
  block({{stream, streams_[stream.id].sequence}, Event{}}, site);
}

void Host::synchronize(Flag flag, std::uint64_t value, Site site) {
  refuse_in_capture("synchronize");
  if (left_out(site)) return;
  if (runtime_.flag_cycles_[flag.id] != 0) {
    throw UsageError("synchronize '" + std::string(site) + "': flag " + std::to_string(flag.id) +
                     " has a cycle, whose values only streams can wait for");
  }
  const std::uint32_t index = add_operation(OperationKind::kHostBlock, site, Stream{}, {});
  blocked(index, engine_.block(id_, flag, value));
  if (log_all_) {
    Call& call = log(CallType::kBlockFlag, site);
    call.operation = index;
    call.flag = flag;
    call.value = value;
  }
}

bool Host::query(Event event, Site site) {
  refuse_in_capture("query");
  const EventState& state = events_[event.id];
  if (state.position.sequence == 0) return true;
  if (!engine_.reached(id_, {state.position, event})) return false;
  if (log_all_ && !left_out(site)) {
    Call& call = log(CallType::kSeen, site);
    call.target = state.position;
    call.event = event;
  }
  return true;
}

// -- capture ------------------------------------------------------------------------------------

void Host::begin_capture(Stream origin, Buffer workspace) {
  refuse_in_capture("capture");
  if (runtime_.timeline_.streams[origin.id].kind == StreamKind::kLegacyDefault) {
    throw UsageError("capture: the legacy default stream cannot be captured");
  }
  capture_ = captures_++;
  capture_origin_ = origin;
  capture_workspace_ = workspace;
  capture_lanes_ = 1;
  script_.nodes.clear();
  script_.nodes.reserve(8);
  streams_[origin.id].lane = 0;
  engine_.begin_capture(id_, origin);
}

void Host::abandon_capture() {
  engine_.abandon_capture(id_);
  leave_capture();
}

void Host::leave_capture() {
  for (StreamState& stream : streams_) {
    stream.lane = -1;
    stream.tail.clear();
  }
  capture_ = -1;
}

Graph Host::end_capture(std::string label) {
  // Everything must lead back to the origin, or the launch would end before all of it is done.
  // Nodes come after ones with lower indices only, so one sweep from the end finds the loose ones.
  std::vector<bool> joined(script_.nodes.size(), false);
  for (const std::uint16_t node : streams_[capture_origin_.id].tail) joined[node] = true;
  for (std::size_t i = script_.nodes.size(); i-- > 0;) {
    if (!joined[i]) continue;
    for (const std::uint16_t before : script_.nodes[i].after) joined[before] = true;
  }
  const auto loose = std::find(joined.begin(), joined.end(), false);
  if (loose != joined.end()) {
    const Name name = script_.nodes[static_cast<std::size_t>(loose - joined.begin())].name;
    throw UsageError("capture of '" + label + "': '" + name +
                     "' is not joined back to the stream that the capture began on");
  }
  if (script_.nodes.empty()) {
    throw UsageError("capture of '" + label + "' holds no operation");
  }
  for (const GraphNode& node : script_.nodes) {
    for (const Access& access : node.accesses) runtime_.in_graphs_[access.buffer.id] = true;
  }
  if (capture_workspace_) runtime_.in_graphs_[capture_workspace_.id] = true;
  script_.label = std::move(label);
  const Graph graph{runtime_.next_graph_++};
  engine_.end_capture(id_, graph, script_);
  graphs_.push_back({graph, capture_workspace_, std::move(script_), 0});
  leave_capture();
  return graph;
}

bool Host::captured(Stream stream, const char* call) {
  if (capture_ < 0) return false;
  if (streams_[stream.id].lane >= 0) return true;
  throw UsageError(std::string(call) + " on stream '" +
                   runtime_.timeline_.streams[stream.id].label +
                   "', which is not part of the capture under way");
}

void Host::refuse_in_capture(const char* call) const {
  if (capture_ >= 0) throw UsageError(std::string(call) + " during a capture");
}

GraphNode& Host::add_node(Stream stream, NodeType type, OperationKind kind, Name name) {
  StreamState& state = streams_[stream.id];
  if (script_.nodes.size() >= UINT16_MAX) throw UsageError("capture: more than 65,535 nodes");
  const auto index = static_cast<std::uint16_t>(script_.nodes.size());
  GraphNode& node = script_.nodes.emplace_back();
  node.type = type;
  node.kind = kind;
  node.name = name;
  node.lane = static_cast<std::uint16_t>(state.lane);
  node.after = state.tail;
  state.tail.assign(1, index);
  return node;
}

// -- the host's own time ------------------------------------------------------------------------

Nanos Host::begin_span(std::span<const Access> accesses) {
  refuse_in_capture("span");
  return engine_.begin_span(id_, accesses);
}

void Host::end_span(Name name, const Cost& cost, Nanos begin, std::span<const Access> accesses) {
  const Nanos end = engine_.end_span(id_, cost);
  const std::uint32_t index = add_operation(OperationKind::kHostSpan, name, Stream{}, accesses);
  Operation& operation = operations_[index];
  operation.issue_begin = operation.start = begin;
  operation.issue_end = operation.end = end;
  if (log_all_) {
    Call& call = log(CallType::kSpan, "");
    call.operation = index;
  }
}

void Host::busy(Name name, Nanos duration) {
  refuse_in_capture("busy");
  const Interval spent = engine_.busy(id_, duration);
  const std::uint32_t index = add_operation(OperationKind::kHostSpan, name, Stream{}, {});
  Operation& operation = operations_[index];
  operation.issue_begin = operation.start = spent.begin;
  operation.issue_end = operation.end = spent.end;
}

Nanos Host::now() { return engine_.now(id_); }

void Host::sleep_until(Nanos time) { engine_.sleep_until(id_, time); }

// -- shared steps -------------------------------------------------------------------------------

bool Host::left_out(Site site) const { return filters_sites_ && runtime_.removed(site); }

void Host::check_region(const Region& region, Name name) const {
  const auto& buffers = runtime_.timeline_.buffers;
  if (region.buffer.id >= buffers.size()) {
    throw UsageError("copy '" + std::string(name) + "': not a buffer of this runtime");
  }
  const BufferInfo& buffer = buffers[region.buffer.id];
  if (region.end() > buffer.bytes || (region.rows > 1 && region.pitch < region.width)) {
    throw UsageError("copy '" + std::string(name) + "': the region ends at byte " +
                     std::to_string(region.end()) + " of buffer '" + buffer.label +
                     "', which has " + std::to_string(buffer.bytes));
  }
}

OperationKind Host::copy_kind(const Region& dst, const Region& src, Name name) const {
  check_region(dst, name);
  check_region(src, name);
  if (dst.width != src.width || dst.rows != src.rows) {
    throw UsageError("copy '" + std::string(name) + "': the two regions differ in shape");
  }
  const BufferInfo& to = runtime_.timeline_.buffers[dst.buffer.id];
  const BufferInfo& from = runtime_.timeline_.buffers[src.buffer.id];
  const bool to_device = to.memory == Memory::kDevice;
  const bool from_device = from.memory == Memory::kDevice;
  if (!to_device && !from_device) {
    throw UsageError("copy '" + std::string(name) + "': both sides are host memory; use a span");
  }
  if (!from_device) return OperationKind::kCopyH2D;
  if (!to_device) return OperationKind::kCopyD2H;
  return to.device == from.device ? OperationKind::kCopyD2D : OperationKind::kCopyPeer;
}

// CUDA's legacy default stream: its work waits for all earlier work of the device's blocking
// streams, and their later work waits for it.
void Host::order_with_default(Stream stream) {
  if (!has_default_) return;
  const auto& infos = runtime_.timeline_.streams;
  const StreamKind kind = infos[stream.id].kind;
  if (kind == StreamKind::kNonBlocking) return;
  const Stream standard = runtime_.default_streams_[infos[stream.id].device];
  if (!standard) return;
  if (kind == StreamKind::kBlocking) {
    StreamState& state = streams_[stream.id];
    const std::uint64_t latest = streams_[standard.id].sequence;
    if (state.default_seen < latest) {
      state.default_seen = latest;
      hold(stream, {standard, latest}, Event{}, kDefaultStreamRule, /*implicit=*/true);
    }
    return;
  }
  for (std::uint32_t id = 0; id < streams_.size(); ++id) {
    StreamState& state = streams_[id];
    if (infos[id].kind != StreamKind::kBlocking || infos[id].device != infos[stream.id].device) {
      continue;
    }
    if (state.seen_by_default < state.sequence) {
      state.seen_by_default = state.sequence;
      hold(stream, {Stream{id}, state.sequence}, Event{}, kDefaultStreamRule, /*implicit=*/true);
    }
  }
}

void Host::hold(Stream stream, Position target, Event event, Site site, bool implicit) {
  Position at;
  if (implicit && engine_.orders_default_stream_natively()) {
    at = {stream, ++streams_[stream.id].sequence};  // the log still shows the order
  } else {
    if (!implicit) order_with_default(stream);
    Command command;
    command.type = Command::Type::kWait;
    command.name = site;
    command.event = event;
    command.target = target;
    at = put(stream, command);
  }
  if (log_all_) {
    Call& call = log(CallType::kWait, site);
    call.implicit = implicit;
    call.at = at;
    call.target = target;
    call.event = event;
  }
}

Position Host::put(Stream stream, const Command& command) {
  const Interval issued = engine_.enqueue(id_, stream, command);
  if (command.operation != Command::kNoOperation) {
    operations_[command.operation].issue_begin = issued.begin;
    operations_[command.operation].issue_end = issued.end;
  }
  return {stream, ++streams_[stream.id].sequence};
}

Call& Host::log(CallType type, Site site) {
  Call& call = calls_.emplace_back();
  call.type = type;
  call.host = static_cast<std::uint16_t>(id_);
  call.site = site;
  return call;
}

std::uint32_t Host::add_operation(OperationKind kind, Name name, Stream stream,
                                  std::span<const Access> accesses) {
  const auto index = static_cast<std::uint32_t>(operations_.size());
  Operation& operation = operations_.emplace_back();
  operation.kind = kind;
  operation.name = name;
  operation.host = static_cast<std::uint16_t>(id_);
  operation.stream = stream;
  operation.step = step_;
  if (log_all_) {
    operation.first_access = static_cast<std::uint32_t>(accesses_.size());
    operation.access_count = static_cast<std::uint32_t>(accesses.size());
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
  }
  return index;
}

void Host::enqueue(Stream stream, Command& command) {
  order_with_default(stream);
  command.operation = add_operation(command.kind, command.name, stream, command.accesses);
  operations_[command.operation].bytes = command.dst.bytes();
  const Position at = put(stream, command);
  if (!log_all_) return;
  Call& call = log(CallType::kEnqueue, "");
  call.operation = command.operation;
  call.at = at;
  if (command.pageable) {  // the host had to wait for it
    Call& block = log(CallType::kBlock, kPageableCopy);
    block.implicit = true;
    block.target = at;
  }
}

void Host::blocked(std::uint32_t operation, const Interval& spent) {
  Operation& block = operations_[operation];
  block.issue_begin = block.start = spent.begin;
  block.issue_end = block.end = spent.end;
}

void Host::block(SyncPoint point, Site site) {
  const std::uint32_t index = add_operation(OperationKind::kHostBlock, site, Stream{}, {});
  blocked(index, engine_.block(id_, point));
  if (log_all_) {
    Call& call = log(CallType::kBlock, site);
    call.operation = index;
    call.target = point.position;
    call.event = point.event;
  }
}

}  // namespace syncopate::runtime
