#include "sim/sim_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/runtime/error.h"
#include "sim/cost_model.h"
#include "sim/effects.h"
#include "sim/hosts.h"
#include "sim/machine.h"

namespace syncopate::sim {
namespace {

using runtime::Access;
using runtime::Buffer;
using runtime::Command;
using runtime::Cost;
using runtime::Device;
using runtime::Event;
using runtime::Flag;
using runtime::Graph;
using runtime::GraphNode;
using runtime::Interval;
using runtime::Meeting;
using runtime::Memory;
using runtime::Nanos;
using runtime::NodeArgs;
using runtime::NodeType;
using runtime::Operation;
using runtime::Position;
using runtime::Stream;
using runtime::SyncPoint;

/// What new memory holds: as floating-point numbers NaN.
constexpr int kUndefined = 0xff;

/// A host runs ahead of the devices on its own clock, and enqueues what arrives later than anything
/// that they have done. Where it must know what they did (it blocks, queries, finds a stream full,
/// or touches memory), they catch up: to the host with the least clock, which then goes on.
class SimEngine final : public runtime::Engine {
 public:
  SimEngine(const HardwareProfile& profile, const SimOptions& options, int devices)
      : devices_(devices),
        costs_(profile, options, devices),
        effects_(options.effects ? std::make_unique<Effects>(memory_) : nullptr),
        hosts_(devices),
        machine_(costs_, hosts_, effects_.get(), devices),
        blocked_on_(static_cast<std::size_t>(devices)) {}

  const char* name() const override { return "sim"; }
  int device_count() const override { return devices_; }

  // -- creation ------------------------------------------------------------------------------

  void create_stream(Stream stream, runtime::StreamKind, Device device) override {
    machine_.add_stream(stream.id, device.id);
  }
  void create_event(Event, Device) override {}  // the front end binds waits to positions
  void create_flag(Flag flag, std::uint64_t) override { machine_.add_flag(flag.id); }
  void create_meeting(Meeting meeting, std::uint32_t ranks) override {
    machine_.add_meeting(meeting.id, ranks);
  }
  std::byte* allocate(Buffer buffer, Memory memory, std::uint64_t bytes, Device) override {
    if (effects_ == nullptr && memory == Memory::kDevice) return nullptr;
    return memory_.allocate(buffer, bytes);
  }

  Interval renew(int host, Buffer buffer, std::uint64_t bytes) override;
  void end_capture(int host, Graph graph, const runtime::GraphScript& script) override;

  // -- work ----------------------------------------------------------------------------------

  Interval enqueue(int host, Stream stream, const Command& command) override;
  Interval record(int host, Event, Position) override {
    return charge(host, costs_.calls().record);
  }
  Interval block(int host, SyncPoint point) override;
  Interval block(int host, Flag flag, std::uint64_t value) override;
  bool reached(int host, SyncPoint point) override;

  // -- host time -----------------------------------------------------------------------------

  Nanos now(int host) override { return hosts_.clock(host); }
  Interval busy(int host, Nanos duration) override { return charge(host, duration); }
  void sleep_until(int host, Nanos time) override {
    hosts_.clock(host) = std::max(hosts_.clock(host), time);
  }
  Nanos begin_span(int host, std::span<const Access> accesses) override;
  Nanos end_span(int host, const Cost& cost) override {
    return hosts_.clock(host) += costs_.draw(host, costs_.span(cost));
  }

  // -- the run -------------------------------------------------------------------------------

  void attach(int host, runtime::Log<Operation>& operations) override {
    machine_.attach(host, operations);
  }
  void run(int hosts, const std::function<void(int host)>& main) override;
  void stamp(int, std::span<Operation>) override {}  // done in place
  Nanos end_time() const override { return end_time_; }

 private:
  Interval charge(int host, Nanos duration) {
    const Nanos begin = hosts_.clock(host);
    return {begin, hosts_.clock(host) = begin + duration};
  }
  Nanos cost_of_call(const Command& command);
  StreamCommand reduce(int host, Stream stream, const Command& command);
  std::uint32_t prepare_launch(int host, const Command& command);
  void add_effects(const Command& command, GraphProgram& graph, std::uint32_t launch);

  /// Blocks `host` until `position` is reached; the times are those of Hosts::block.
  void wait_for(int host, Position position, Nanos call, Nanos wake);
  /// Devices catch up and the host with the least clock goes on; returns when that is `host`, or,
  /// if `host` has finished, when nothing is left for it to do.
  void yield(int host);
  /// Runs events up to the least clock of the hosts that can go on.
  void run_devices();
  void settle(int host) {
    yield(host);
    check();
  }
  /// Throws the run's first error, if there is one: what one host failed at ends them all.
  void check() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }
  void fail(std::exception_ptr error);
  runtime::DeadlockError deadlock() const;

  struct BlockedOn {
    Position position;
    Flag flag;  // this, where it is one
    std::uint64_t value = 0;
  };

  int devices_;
  CostModel costs_;
  BufferMemory memory_;
  std::unique_ptr<Effects> effects_;  // null when off
  Hosts hosts_;
  Machine machine_;
  std::vector<runtime::GraphScript> scripts_;  // by graph id; kept for their effects
  std::vector<BlockedOn> blocked_on_;          // by host, while blocked
  std::exception_ptr failure_;
  Nanos end_time_ = 0;
};

// -- work ------------------------------------------------------------------------------------

void SimEngine::end_capture(int, Graph graph, const runtime::GraphScript& script) {
  machine_.add_graph(graph.id, GraphProgram(script, costs_));
  if (effects_ == nullptr) return;
  if (graph.id >= scripts_.size()) scripts_.resize(graph.id + 1);
  scripts_[graph.id] = script;
}

Interval SimEngine::enqueue(int host, Stream stream, const Command& command) {
  const Nanos begin = hosts_.clock(host);
  const StreamQueue& queue = machine_.stream(stream.id);
  while (queue.pending.size() >= costs_.queue_depth()) {
    wait_for(host, {stream, queue.enqueued() - costs_.queue_depth() + 1}, 0, 0);
  }
  StreamCommand reduced = reduce(host, stream, command);
  hosts_.clock(host) += cost_of_call(command);
  reduced.arrival = hosts_.clock(host) + costs_.launch_latency();
  machine_.enqueue(stream.id, reduced);
  if (command.pageable) wait_for(host, {stream, queue.enqueued()}, 0, costs_.calls().wake);
  return {begin, hosts_.clock(host)};
}

Nanos SimEngine::cost_of_call(const Command& command) {
  const CostModel::Calls& calls = costs_.calls();
  switch (command.type) {
    case Command::Type::kKernel:
      return calls.kernel_launch;
    case Command::Type::kCopy:
      return calls.copy;
    case Command::Type::kGraph:
      return costs_.graph_launch(machine_.graph(command.graph.id).calls);
    case Command::Type::kSignal:
      return command.implicit ? 0 : calls.signal;
    case Command::Type::kWaitFlag:
      return command.implicit ? 0 : calls.wait;
    // Without an event, no call was made: the wait is the legacy default stream's rule.
    case Command::Type::kWait:
      return command.event ? calls.wait : 0;
  }
  return 0;
}

StreamCommand SimEngine::reduce(int host, Stream stream, const Command& command) {
  StreamCommand reduced;
  reduced.type = command.type;
  reduced.operation = command.operation;
  reduced.host = static_cast<std::uint8_t>(host);
  switch (command.type) {
    case Command::Type::kKernel:
      reduced.work = command.cost.work;
      reduced.object = command.meeting.id;
      reduced.amount = static_cast<std::uint64_t>(costs_.draw(host, costs_.kernel(command.cost)));
      if (effects_ != nullptr) {
        reduced.effect = effects_->add_kernel(command.name, command.kernel->host, command.accesses);
      }
      break;
    case Command::Type::kCopy: {
      reduced.engine = copy_engine_of(command.kind);
      const Nanos nominal = costs_.copy(reduced.engine, command.src.bytes(), command.pageable);
      reduced.amount = static_cast<std::uint64_t>(costs_.draw(host, nominal));
      if (effects_ != nullptr) {
        reduced.effect = effects_->add_copy(command.name, command.dst, command.src);
      }
      break;
    }
    case Command::Type::kGraph:
      reduced.object = command.graph.id;
      reduced.effect = prepare_launch(host, command);
      break;
    case Command::Type::kWait:
      reduced.object = command.target.stream.id;
      reduced.amount = command.target.sequence;
      break;
    case Command::Type::kSignal:
    case Command::Type::kWaitFlag:
      if (command.implicit) {  // its collective's kernels meet by themselves
        reduced.type = Command::Type::kWait;
        reduced.object = stream.id;  // what was done by then is done
        break;
      }
      reduced.object = command.flag.id;
      reduced.amount = command.value;
      break;
  }
  return reduced;
}

std::uint32_t SimEngine::prepare_launch(int host, const Command& command) {
  GraphProgram& graph = machine_.graph(command.graph.id);
  const std::uint32_t launch = graph.take_launch(effects_ != nullptr);
  if (graph.counts_launches) graph.numbers[launch] = command.launch;
  Nanos* durations = graph.durations_of(launch);
  const NodeArgs* args = command.node_args.data();
  const NodeArgs* const args_end = args + command.node_args.size();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphProgram::Node& node = graph.nodes[i];
    const bool has_args = args != args_end && args->node == i;
    const Nanos nominal =
        has_args && node.type == NodeType::kKernel ? costs_.kernel(args->cost) : node.duration;
    durations[i] = costs_.draw(host, nominal);
    args += has_args ? 1 : 0;
  }
  if (effects_ != nullptr) add_effects(command, graph, launch);
  return launch;
}

void SimEngine::add_effects(const Command& command, GraphProgram& graph, std::uint32_t launch) {
  std::uint32_t* effects = graph.effects_of(launch);
  const std::uint32_t whole = effects_->add_graph(command.name, command.accesses);
  effects[graph.size()] = whole;
  const NodeArgs* args = command.node_args.data();
  const NodeArgs* const args_end = args + command.node_args.size();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphNode& node = scripts_[command.graph.id].nodes[i];
    const bool has_args = args != args_end && args->node == i;
    if (node.type == NodeType::kKernel) {
      effects[i] = effects_->add_kernel(node.name, node.kernel.host, node.accesses,
                                        has_args ? args->extra : std::span<const Access>(), whole);
    } else if (node.type == NodeType::kCopy) {
      effects[i] = effects_->add_copy(node.name, node.dst, node.src, whole);
    }
    args += has_args ? 1 : 0;
  }
}

Interval SimEngine::renew(int host, Buffer buffer, std::uint64_t bytes) {
  if (effects_ != nullptr) {
    settle(host);
    const Access whole = runtime::write(buffer, 0, bytes);
    effects_->host_span(std::span(&whole, 1));
    // The place stays, so that a program that renews too early is wrong and not a crash.
    std::memset(memory_.base(buffer), kUndefined, bytes);
  }
  return charge(host, costs_.renew(bytes));
}

Interval SimEngine::block(int host, SyncPoint point) {
  const Nanos begin = hosts_.clock(host);
  wait_for(host, point.position, costs_.calls().synchronize, costs_.calls().wake);
  return {begin, hosts_.clock(host)};
}

Interval SimEngine::block(int host, Flag flag, std::uint64_t value) {
  const Nanos begin = hosts_.clock(host);
  check();
  if (machine_.is_set(flag.id, value)) {
    hosts_.clock(host) += costs_.calls().query;
  } else {
    blocked_on_[static_cast<std::size_t>(host)] = {{}, flag, value};
    hosts_.block(host, costs_.calls().query, costs_.calls().wake);
    machine_.wake_at_flag(host, flag.id, value);
    settle(host);
  }
  return {begin, hosts_.clock(host)};
}

bool SimEngine::reached(int host, SyncPoint point) {
  settle(host);
  // Never free: a host that polls must get on.
  hosts_.clock(host) += std::max<Nanos>(costs_.calls().query, 1);
  return machine_.reached(point.position);
}

Nanos SimEngine::begin_span(int host, std::span<const Access> accesses) {
  if (effects_ != nullptr && !accesses.empty()) {
    settle(host);
    effects_->host_span(accesses);
  }
  return hosts_.clock(host);
}

// -- the run ---------------------------------------------------------------------------------

void SimEngine::wait_for(int host, Position position, Nanos call, Nanos wake) {
  check();
  if (machine_.reached(position)) {
    hosts_.clock(host) += call;
    return;
  }
  blocked_on_[static_cast<std::size_t>(host)] = {position, {}, 0};
  hosts_.block(host, call, wake);
  machine_.wake_at(host, position);
  settle(host);
}

void SimEngine::yield(int host) {
  if (failure_ == nullptr) run_devices();
  if (failure_ == nullptr && hosts_.next() < 0 && !hosts_.all_done()) {
    fail(std::make_exception_ptr(deadlock()));
  }
  const int next = hosts_.next();
  if (next >= 0 && next != host) hosts_.hand_over(host, next);
}

void SimEngine::run_devices() {
  try {
    std::uint64_t wakes = hosts_.wakes() - 1;
    Nanos limit = 0;
    while (!machine_.idle()) {
      if (wakes != hosts_.wakes()) {
        wakes = hosts_.wakes();
        const int next = hosts_.next();
        limit = next < 0 ? kNever : hosts_.clock(next);
      }
      if (machine_.next_time() > limit) return;
      machine_.step();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

void SimEngine::fail(std::exception_ptr error) {
  if (failure_ == nullptr) failure_ = std::move(error);
  hosts_.release_all();
}

runtime::DeadlockError SimEngine::deadlock() const {
  std::string text = "nothing can go on";
  for (int host = 0; host < devices_; ++host) {
    if (!hosts_.blocked(host)) continue;
    const auto& [position, flag, value] = blocked_on_[static_cast<std::size_t>(host)];
    text += flag ? fmt::format("\n  host {} waits for flag {} to be {}", host, flag.id, value)
                 : fmt::format("\n  host {} waits for command {} of stream {}", host,
                               position.sequence, position.stream.id);
  }
  return runtime::DeadlockError(text + machine_.positions());
}

void SimEngine::run(int hosts, const std::function<void(int host)>& main) {
  hosts_.run(hosts, [&](int host) {
    try {
      check();  // of a host that failed before this one had its first turn
      main(host);
    } catch (...) {
      fail(std::current_exception());
    }
    hosts_.finish(host);
    yield(host);
  });
  if (failure_ == nullptr && !machine_.drained()) fail(std::make_exception_ptr(deadlock()));
  end_time_ = std::max(machine_.now(), hosts_.latest_clock());
  check();
}

}  // namespace

std::unique_ptr<runtime::Engine> make_sim_engine(const HardwareProfile& profile,
                                                 const SimOptions& options, int devices) {
  if (devices < 1 || devices > 256) {
    throw runtime::UsageError("a simulation has 1 to 256 devices, not " + std::to_string(devices));
  }
  return std::make_unique<SimEngine>(profile, options, devices);
}

}  // namespace syncopate::sim
