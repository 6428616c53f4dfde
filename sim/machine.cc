#include "sim/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/runtime/error.h"

namespace syncopate::sim {

using runtime::Command;
using runtime::Nanos;
using runtime::NodeType;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Position;
using runtime::Work;

Machine::Machine(const CostModel& costs, Hosts& hosts, Effects* effects, int devices)
    : costs_(costs),
      hosts_(hosts),
      effects_(effects),
      waiters_(static_cast<std::size_t>(devices)),
      devices_(static_cast<std::size_t>(devices)),
      operations_(static_cast<std::size_t>(devices)) {
  runnable_.reserve();
  graphs_.reserve(8);
  graph_of_node_.reserve(64);
}

void Machine::add_stream(std::uint32_t stream, std::uint32_t device) {
  if (stream >= streams_.size()) {
    streams_.resize(stream + 1);
    waiters_.resize(devices_.size() + stream + 1);
  }
  streams_[stream].device = device;
  streams_[stream].pending.reserve();
}

void Machine::add_flag(std::uint32_t flag) {
  if (flag >= flags_.size()) flags_.resize(flag + 1);
}

void Machine::add_meeting(std::uint32_t meeting, std::uint32_t ranks) {
  if (meeting >= meetings_.size()) meetings_.resize(meeting + 1);
  meetings_[meeting].ranks = ranks;
  meetings_[meeting].come.reserve(ranks);
  meetings_[meeting].left.reserve(ranks);
}

void Machine::add_graph(std::uint32_t graph, GraphProgram program) {
  if (graph >= graphs_.size()) graphs_.resize(graph + 1);
  program.first_task = static_cast<std::uint32_t>(graph_of_node_.size());
  graph_of_node_.resize(graph_of_node_.size() + program.size(), graph);
  if (graph_of_node_.size() >= std::size_t{1} << (kPayloadBits - kKindBits)) {
    throw runtime::UsageError("too many graph nodes to simulate");
  }
  graphs_[graph] = std::move(program);
}

void Machine::attach(int host, runtime::Log<Operation>& operations) {
  operations_[static_cast<std::size_t>(host)] = &operations;
}

void Machine::enqueue(std::uint32_t index, const StreamCommand& command) {
  StreamQueue& stream = streams_[index];
  const bool first = stream.pending.empty();
  stream.pending.push(command);
  if (first) {
    stream.arriving = true;
    events_.push(command.arrival, pack(Kind::kStream, index));
  }
}

// -- events -----------------------------------------------------------------------------------

void Machine::step() {
  const QueuedEvent event = events_.top();
  events_.pop();
  now_ = event.time;
  const std::uint32_t index = index_of(event.payload());
  switch (kind_of(event.payload())) {
    case Kind::kStream:
      streams_[index].arriving = false;
      advance(index);
      break;
    case Kind::kNode:
      start_node(index);
      break;
    case Kind::kGraph:
      begin_graph(index);
      break;
    case Kind::kCopyEngine:
      end_copy(index);
      break;
    case Kind::kFluid:
      end_kernels(index);
      break;
    case Kind::kHandOver:
      go_on(index);
      break;
    case Kind::kHost:
      break;  // waits for flags, not for a time
  }
  while (!runnable_.empty()) {
    const std::uint32_t stream = runnable_.front();
    runnable_.pop();
    advance(stream);
  }
  if (!fluids_changed_) return;
  fluids_changed_ = false;
  for (std::uint32_t device = 0; device < devices_.size(); ++device) schedule_fluid(device);
}

// -- streams ----------------------------------------------------------------------------------

void Machine::advance(std::uint32_t index) {
  StreamQueue& stream = streams_[index];
  while (!stream.busy && !stream.pending.empty()) {
    const StreamCommand& command = stream.pending.front();
    if (command.arrival > now_) {
      if (!stream.arriving) {
        stream.arriving = true;
        events_.push(command.arrival, pack(Kind::kStream, index));
      }
      return;
    }
    const std::uint32_t task = pack(Kind::kStream, index);
    switch (command.type) {
      case Command::Type::kKernel:
        stream.busy = true;
        run_kernel(task, stream.device, command.work, command.object,
                   static_cast<Nanos>(command.amount));
        return;
      case Command::Type::kCopy:
        stream.busy = true;
        run_copy(task, stream.device, command.engine, static_cast<Nanos>(command.amount));
        return;
      case Command::Type::kGraph:
        stream.busy = true;
        launch_graph(index, command);
        return;
      case Command::Type::kWait:
        if (streams_[command.object].done < command.amount) {
          stream.busy = true;
          add_waiter(command.object, static_cast<std::uint32_t>(devices_.size()) + index,
                     command.amount);
          return;
        }
        break;
      case Command::Type::kWaitFlag:
        if (hold_for_flag(task, command.object, command.amount)) {
          stream.busy = true;
          return;
        }
        break;
      case Command::Type::kSignal:
        set_flag(command.object, command.amount);
        break;
    }
    complete_first(index);
  }
}

void Machine::complete_first(std::uint32_t index) {
  StreamQueue& stream = streams_[index];
  stream.pending.pop();
  stream.busy = false;
  ++stream.done;
  if (stream.first_waiter != kNoWaiter) wake_waiters(stream);
}

void Machine::wake_at(int host, Position position) {
  add_waiter(position.stream.id, static_cast<std::uint32_t>(host), position.sequence);
}

void Machine::add_waiter(std::uint32_t index, std::uint32_t waiter, std::uint64_t sequence) {
  StreamQueue& stream = streams_[index];
  waiters_[waiter] = {kNoWaiter, sequence};
  if (stream.first_waiter == kNoWaiter) {
    stream.first_waiter = waiter;
  } else {
    waiters_[stream.last_waiter].next = waiter;
  }
  stream.last_waiter = waiter;
}

void Machine::wake_waiters(StreamQueue& stream) {
  std::uint32_t waiter = std::exchange(stream.first_waiter, kNoWaiter);
  std::uint32_t last_kept = kNoWaiter;
  while (waiter != kNoWaiter) {
    const std::uint32_t next = waiters_[waiter].next;
    if (waiters_[waiter].sequence > stream.done) {
      waiters_[waiter].next = kNoWaiter;
      (last_kept == kNoWaiter ? stream.first_waiter : waiters_[last_kept].next) = waiter;
      last_kept = waiter;
    } else if (waiter < devices_.size()) {
      hosts_.wake(static_cast<int>(waiter), now_);
    } else {
      hand_over(waiter - static_cast<std::uint32_t>(devices_.size()));
    }
    waiter = next;
  }
  stream.last_waiter = last_kept;
}

void Machine::hand_over(std::uint32_t stream) {
  if (costs_.handover() == 0) {
    go_on(stream);
  } else {
    after(costs_.handover(), Kind::kHandOver, stream);
  }
}

void Machine::go_on(std::uint32_t stream) {
  streams_[stream].busy = false;
  runnable_.push(stream);
}

// -- tasks ------------------------------------------------------------------------------------

void Machine::task_started(std::uint32_t task) {
  if (Operation* operation = operation_of(task)) operation->start = now_;
  if (effects_ != nullptr) effects_->start(effect_of(task));
}

void Machine::task_done(std::uint32_t task) {
  if (Operation* operation = operation_of(task)) operation->end = now_;
  if (effects_ != nullptr) effects_->finish(effect_of(task));
}

void Machine::leave_task(std::uint32_t task) {
  if (kind_of(task) == Kind::kNode) {
    end_node(index_of(task));
  } else {
    runnable_.push(index_of(task));
    complete_first(index_of(task));
  }
}

void Machine::run_kernel(std::uint32_t task, std::uint32_t index, Work work, std::uint32_t meeting,
                         Nanos duration) {
  Device& device = devices_[index];
  fluids_changed_ = true;
  if (costs_.pauses_count()) duration += begin_of_kind(device, work);
  const Demand& demand = costs_.demand(work);
  const bool started = meeting == kNoMeeting
                           ? device.fluid.submit(now_, task, demand, duration)
                           : device.fluid.submit_idle(now_, task, demand, duration);
  if (started) kernel_started(task);
}

// A collective's kernel has its slots: it is there. The last one to come sets all to work.
void Machine::kernel_started(std::uint32_t task) {
  const std::uint32_t id = meeting_of(task);
  if (id == kNoMeeting) return task_started(task);
  if (Operation* operation = operation_of(task)) operation->start = now_;
  MeetingState& meeting = meetings_[id];
  meeting.come.push_back(task);
  if (meeting.come.size() < meeting.ranks) return;
  fluids_changed_ = true;
  for (const std::uint32_t rank : meeting.come) {
    if (effects_ != nullptr) effects_->start(effect_of(rank));
    devices_[device_of(rank)].fluid.begin_work(now_, rank);
  }
  meeting.come.clear();
}

// It has given its slots back; its stream goes on when all have ended.
void Machine::kernel_ended(std::uint32_t task) {
  const std::uint32_t id = meeting_of(task);
  if (id == kNoMeeting) return task_ended(task);
  std::vector<std::uint32_t>& left = meetings_[id].left;
  left.push_back(task);
  if (left.size() < meetings_[id].ranks) return;
  for (const std::uint32_t rank : left) task_done(rank);  // all, before any goes on
  for (const std::uint32_t rank : left) leave_task(rank);
  left.clear();
}

Nanos Machine::begin_of_kind(Device& device, Work work) {
  KindOfKernel& kind = device.kinds[static_cast<std::size_t>(work)];
  if (kind.unfinished++ > 0 || kind.ended == now_) return 0;
  return costs_.after_pause(work, kind.ended == kNotYet ? kNever : now_ - kind.ended);
}

void Machine::end_of_kind(Device& device, std::uint32_t task) {
  Work work;
  if (kind_of(task) == Kind::kStream) {
    work = streams_[index_of(task)].pending.front().work;
  } else {
    const GraphProgram& graph = graph_of(index_of(task));
    work = graph.nodes[index_of(task) - graph.first_task].work;
  }
  KindOfKernel& kind = device.kinds[static_cast<std::size_t>(work)];
  --kind.unfinished;
  kind.ended = now_;
}

void Machine::run_copy(std::uint32_t task, std::uint32_t device, CopyEngine engine,
                       Nanos duration) {
  const std::uint32_t index =
      device * static_cast<std::uint32_t>(kCopyEngines) + static_cast<std::uint32_t>(engine);
  CopyState& copies = copy_state(index);
  if (copies.busy) {
    copies.waiting.push({task, duration});
  } else {
    begin_copy(index, {task, duration});
  }
}

bool Machine::hold_for_flag(std::uint32_t task, std::uint32_t flag, std::uint64_t value) {
  FlagState& state = flags_[flag];
  if (state.value >= value) return false;
  state.waiters.push_back({value, task});
  return true;
}

void Machine::set_flag(std::uint32_t flag, std::uint64_t value) {
  flags_[flag].value = value;
  // A node that goes on may signal in turn, this flag too: so each round looks at the list anew.
  for (;;) {
    auto& waiters = flags_[flag].waiters;
    const auto held = std::find_if(waiters.begin(), waiters.end(), [&](const auto& waiter) {
      return waiter.value <= flags_[flag].value;
    });
    if (held == waiters.end()) return;
    const std::uint32_t task = held->task;
    waiters.erase(held);
    if (kind_of(task) == Kind::kNode) {
      if (Operation* operation = operation_of(task)) operation->end = now_;
      end_node(index_of(task));
    } else if (kind_of(task) == Kind::kHost) {
      hosts_.wake(static_cast<int>(index_of(task)), now_);
    } else {
      hand_over(index_of(task));
    }
  }
}

// -- devices ----------------------------------------------------------------------------------

void Machine::begin_copy(std::uint32_t engine, const PendingCopy& copy) {
  CopyState& copies = copy_state(engine);
  copies.busy = true;
  copies.current = copy;
  after(copy.duration, Kind::kCopyEngine, engine);
  task_started(copy.task);
}

void Machine::end_copy(std::uint32_t engine) {
  CopyState& copies = copy_state(engine);
  task_ended(copies.current.task);  // still busy: what follows from it queues behind the others
  copies.busy = false;
  if (copies.waiting.empty()) return;
  const PendingCopy next = copies.waiting.front();
  copies.waiting.pop();
  begin_copy(engine, next);
}

void Machine::end_kernels(std::uint32_t index) {
  Device& device = devices_[index];
  if (device.fluid_event != now_) return;
  device.fluid_event = kNever;
  fluids_changed_ = true;
  while (const auto task = device.fluid.take_ended(now_)) {
    if (costs_.pauses_count()) end_of_kind(device, *task);
    kernel_ended(*task);
  }
  while (const auto task = device.fluid.take_started(now_)) kernel_started(*task);
}

void Machine::schedule_fluid(std::uint32_t index) {
  Device& device = devices_[index];
  const Nanos end = device.fluid.next_end();
  if (end == device.fluid_event) return;
  device.fluid_event = end;
  if (end != kNever) events_.push(end, pack(Kind::kFluid, index));
}

// -- graphs -----------------------------------------------------------------------------------

void Machine::launch_graph(std::uint32_t stream, const StreamCommand& command) {
  GraphProgram& graph = graphs_[command.object];
  if (graph.running) {
    graph.waiting.push_back(stream);
    return;
  }
  graph.running = true;
  graph.stream = stream;
  graph.launch = command.effect;
  if (costs_.graph_start_latency() == 0) {
    begin_graph(command.object);
  } else {
    after(costs_.graph_start_latency(), Kind::kGraph, command.object);
  }
}

void Machine::begin_graph(std::uint32_t index) {
  GraphProgram& graph = graphs_[index];
  const StreamCommand& command = streams_[graph.stream].pending.front();
  if (Operation* operation = operation_of(command)) operation->start = now_;
  const Operation* first_node = operation_of(command, 1);
  graph.nodes_logged = first_node != nullptr && first_node->kind == OperationKind::kGraphNode;
  const auto count = static_cast<std::uint32_t>(graph.size());
  for (std::uint32_t i = 0; i < count; ++i) graph.nodes[i].missing = graph.nodes[i].predecessors;
  graph.left = count;
  if (effects_ != nullptr) effects_->start(graph.effects_of(graph.launch)[count]);
  if (count == 0) end_graph(index);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (graph.nodes[i].predecessors == 0) start_node(graph.first_task + i);
  }
}

void Machine::start_node(std::uint32_t index) {
  GraphProgram& graph = graph_of(index);
  const std::uint32_t in_graph = index - graph.first_task;
  const GraphProgram::Node& node = graph.nodes[in_graph];
  const std::uint32_t device = streams_[graph.stream].device;
  const Nanos duration = graph.durations_of(graph.launch)[in_graph];
  const std::uint32_t task = pack(Kind::kNode, index);
  if (node.type == NodeType::kKernel) {
    return run_kernel(task, device, node.work, node.meeting.id, duration);
  }
  if (node.type == NodeType::kCopy) return run_copy(task, device, node.engine, duration);

  if (Operation* operation = operation_of(task)) operation->start = now_;
  const std::uint64_t value =
      node.cycle == 0 ? node.value : node.value + graph.numbers[graph.launch] * node.cycle;
  if (node.implicit) {
    if (Operation* operation = operation_of(task)) operation->end = now_;
    return end_node(index);
  }
  if (node.type == NodeType::kWaitFlag && hold_for_flag(task, node.flag, value)) return;
  if (Operation* operation = operation_of(task)) operation->end = now_;
  if (node.type == NodeType::kSignal) set_flag(node.flag, value);
  end_node(index);
}

void Machine::end_node(std::uint32_t index) {
  GraphProgram& graph = graph_of(index);
  const std::uint32_t in_graph = index - graph.first_task;
  const std::uint16_t* end = graph.successors_end(in_graph);
  for (const std::uint16_t* next = graph.successors_begin(in_graph); next != end; ++next) {
    if (--graph.nodes[*next].missing > 0) continue;
    if (costs_.node_gap() == 0 || graph.nodes[*next].implicit) {
      start_node(graph.first_task + *next);
    } else {
      after(costs_.node_gap(), Kind::kNode, graph.first_task + *next);
    }
  }
  if (--graph.left == 0) end_graph(graph_of_node_[index]);
}

void Machine::end_graph(std::uint32_t index) {
  GraphProgram& graph = graphs_[index];
  if (Operation* operation = operation_of(streams_[graph.stream].pending.front())) {
    operation->end = now_;
  }
  if (effects_ != nullptr) effects_->finish(graph.effects_of(graph.launch)[graph.size()]);
  graph.free_launch(graph.launch);
  graph.running = false;
  for (const std::uint32_t stream : graph.waiting) go_on(stream);
  graph.waiting.clear();
  runnable_.push(graph.stream);
  complete_first(graph.stream);
}

// -- looking things up ------------------------------------------------------------------------

Operation* Machine::operation_of(std::uint32_t task) {
  if (kind_of(task) == Kind::kStream) return operation_of(streams_[index_of(task)].pending.front());
  const GraphProgram& graph = graph_of(index_of(task));
  if (!graph.nodes_logged) return nullptr;
  return operation_of(streams_[graph.stream].pending.front(),
                      1 + index_of(task) - graph.first_task);
}

std::uint32_t Machine::effect_of(std::uint32_t task) {
  if (kind_of(task) == Kind::kStream) return streams_[index_of(task)].pending.front().effect;
  GraphProgram& graph = graph_of(index_of(task));
  return graph.effects_of(graph.launch)[index_of(task) - graph.first_task];
}

std::uint32_t Machine::meeting_of(std::uint32_t task) const {
  if (kind_of(task) == Kind::kStream) return streams_[index_of(task)].pending.front().object;
  const GraphProgram& graph = graph_of(index_of(task));
  return graph.nodes[index_of(task) - graph.first_task].meeting.id;
}

std::uint32_t Machine::device_of(std::uint32_t task) const {
  const bool node = kind_of(task) == Kind::kNode;
  return streams_[node ? graph_of(index_of(task)).stream : index_of(task)].device;
}

bool Machine::drained() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const StreamQueue& stream) { return stream.pending.empty(); });
}

std::string Machine::positions() const {
  std::string text;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const StreamQueue& stream = streams_[i];
    if (stream.pending.empty()) continue;
    text += fmt::format("\n  stream {} of device {}: {} of {} commands done; the next one {}", i,
                        stream.device, stream.done, stream.enqueued(), describe(stream));
  }
  return text;
}

std::string Machine::describe(const StreamQueue& stream) const {
  const StreamCommand& command = stream.pending.front();
  const auto flag = [&](std::uint32_t id, std::uint64_t value) {
    return fmt::format("waits for flag {} to be {} (it is {})", id, value, flags_[id].value);
  };
  switch (command.type) {
    case Command::Type::kWait:
      return fmt::format("waits for command {} of stream {} (it has done {})", command.amount,
                         command.object, streams_[command.object].done);
    case Command::Type::kWaitFlag:
      return flag(command.object, command.amount);
    case Command::Type::kGraph:
      return fmt::format("is a launch of graph {}", command.object) +
             (&streams_[graphs_[command.object].stream] == &stream
                  ? describe_graph(command.object)
                  : ", which is running elsewhere");
    default: {
      const Operation* operation = operation_of(command);
      const auto index = static_cast<std::uint32_t>(&stream - streams_.data());
      return fmt::format("is '{}'", operation != nullptr ? operation->name : "?") +
             (command.type == Command::Type::kKernel ? describe_meeting(pack(Kind::kStream, index))
                                                     : "");
    }
  }
}

std::string Machine::describe_graph(std::uint32_t graph) const {
  std::string text;
  const auto node_of = [&](std::uint32_t task) {
    const bool of_graph = kind_of(task) == Kind::kNode && graph_of_node_[index_of(task)] == graph;
    return of_graph ? static_cast<int>(index_of(task) - graphs_[graph].first_task) : -1;
  };
  for (std::size_t id = 0; id < flags_.size(); ++id) {
    for (const auto& waiter : flags_[id].waiters) {
      if (const int node = node_of(waiter.task); node >= 0) {
        text += fmt::format(", whose node {} waits for flag {} to be {} (it is {})", node, id,
                            waiter.value, flags_[id].value);
      }
    }
  }
  for (const MeetingState& meeting : meetings_) {
    for (const std::uint32_t task : meeting.come) {
      if (const int node = node_of(task); node >= 0) {
        text += fmt::format(", whose node {} is a kernel{}", node, describe_meeting(task));
      }
    }
  }
  return text;
}

std::string Machine::describe_meeting(std::uint32_t task) const {
  const std::uint32_t id = meeting_of(task);
  if (id == kNoMeeting) return "";
  const auto& come = meetings_[id].come;
  if (std::find(come.begin(), come.end(), task) == come.end()) return ", which waits for its slots";
  return fmt::format(" of meeting {}, to which {} of {} ranks have come", id, come.size(),
                     meetings_[id].ranks);
}

}  // namespace syncopate::sim
