#include "backend/cpu/cpu_engine.h"

#include <algorithm>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cpu/action.h"
#include "backend/cpu/chaos.h"
#include "backend/cpu/clock.h"
#include "backend/cpu/failure.h"
#include "backend/cpu/host_memory.h"
#include "backend/cpu/stall_watch.h"
#include "backend/cpu/stream_thread.h"
#include "backend/cpu/waiter.h"
#include "backend/runtime/error.h"

namespace syncopate::cpu {
namespace {

using runtime::Command;
using runtime::Interval;
using runtime::Nanos;

const runtime::Body& host_body(const runtime::Kernel& kernel, runtime::Name name) {
  if (!kernel.host) {
    throw runtime::UsageError("kernel '" + std::string(name) + "' has no body for the host");
  }
  return kernel.host;
}

class CpuEngine final : public runtime::Engine {
 public:
  CpuEngine(const CpuOptions& options, int devices);
  ~CpuEngine() override { failure_.stop(); }

  const char* name() const override { return "cpu"; }
  int device_count() const override { return static_cast<int>(hosts_.size()); }

  void create_stream(runtime::Stream stream, runtime::StreamKind kind,
                     runtime::Device device) override;
  void create_event(runtime::Event, runtime::Device) override {}
  void create_flag(runtime::Flag flag, std::uint64_t cycle) override;
  std::byte* allocate(runtime::Buffer buffer, runtime::Memory memory, std::uint64_t bytes,
                      runtime::Device device) override;

  Interval renew(int host, runtime::Buffer buffer, std::uint64_t bytes) override;
  void end_capture(int host, runtime::Graph graph, const runtime::GraphScript& script) override;

  Interval enqueue(int host, runtime::Stream stream, const Command& command) override;
  Interval record(int host, runtime::Event event, runtime::Position at) override;
  Interval block(int host, runtime::SyncPoint point) override;
  Interval block(int host, runtime::Flag flag, std::uint64_t value) override;
  bool reached(int host, runtime::SyncPoint point) override;

  Nanos now(int) override { return clock_.now(); }
  Interval busy(int host, Nanos duration) override;
  void sleep_until(int host, Nanos time) override;
  Nanos begin_span(int, std::span<const runtime::Access>) override { return clock_.now(); }
  Nanos end_span(int, const runtime::Cost&) override { return clock_.now(); }

  void attach(int host, runtime::Log<runtime::Operation>& operations) override {
    this->host(host).operations = &operations;
  }
  void run(int hosts, const std::function<void(int host)>& main) override;
  void stamp(int host, std::span<runtime::Operation> operations) override;
  Nanos end_time() const override { return end_time_; }

 private:
  /// What belongs to one host's thread.
  struct HostState {
    HostState(int id, Failure& failure, std::unique_ptr<StallWatch> watch)
        : waiter("host " + std::to_string(id), failure, std::move(watch)) {}

    Waiter waiter;
    const runtime::Log<runtime::Operation>* operations = nullptr;
    std::vector<std::unique_ptr<const ActionGraph>> graphs;  // by graph id, null for others'
  };
  struct alignas(64) FlagState {
    Counter counter;
  };

  HostState& host(int id) { return hosts_[static_cast<std::size_t>(id)]; }
  StreamThread& stream(runtime::Stream id);
  std::unique_ptr<StallWatch> make_watch() const {
    return std::make_unique<StallWatch>(waiters_, stall_timeout_);
  }

  Action resolve(const HostState& host, const Command& command);
  Action resolve(const runtime::GraphNode& node);
  RowCopy resolve_copy(const runtime::Region& dst, const runtime::Region& src) const;
  Counter& flag(runtime::Flag id, std::uint64_t value);
  WaitTarget flag_reaches(runtime::Flag id, std::uint64_t value);
  void wait(Waiter& waiter, const WaitTarget& target);
  void run_host(int id, const std::function<void(int)>& main);
  void drain();

  const std::size_t queue_capacity_;
  const std::uint64_t chaos_seed_;
  const std::chrono::nanoseconds stall_timeout_;

  Failure failure_;
  Clock clock_;
  HostMemory memory_;
  std::deque<FlagState> flags_;
  std::vector<Waiter*> waiters_;  // of all hosts and streams
  std::deque<HostState> hosts_;
  Nanos end_time_ = 0;
  std::vector<std::unique_ptr<StreamThread>> streams_;  // last: their threads use all of the above
};

CpuEngine::CpuEngine(const CpuOptions& options, int devices)
    : queue_capacity_(options.queue_capacity),
      chaos_seed_(options.chaos_seed),
      stall_timeout_(options.stall_timeout) {
  if (devices < 1) throw runtime::UsageError("the CPU engine needs at least one device");
  if (queue_capacity_ < 1) throw runtime::UsageError("queue_capacity must be at least 1");
  for (int id = 0; id < devices; ++id) {
    waiters_.push_back(&hosts_.emplace_back(id, failure_, make_watch()).waiter);
  }
}

// -- creation -----------------------------------------------------------------------------------

void CpuEngine::create_stream(runtime::Stream stream, runtime::StreamKind /*kind*/,
                              runtime::Device device) {
  if (streams_.size() <= stream.id) streams_.resize(stream.id + 1);
  streams_[stream.id] = std::make_unique<StreamThread>(
      stream, device.id, queue_capacity_, Chaos(chaos_seed_, stream.id),
      StreamThread::Shared{failure_, clock_, memory_.bases()});
  waiters_.push_back(&streams_[stream.id]->waiter());
}

void CpuEngine::create_flag(runtime::Flag flag, std::uint64_t /*cycle*/) {
  while (flags_.size() <= flag.id) flags_.emplace_back();
}

std::byte* CpuEngine::allocate(runtime::Buffer buffer, runtime::Memory /*memory*/,
                               std::uint64_t bytes, runtime::Device /*device*/) {
  return memory_.allocate(buffer, bytes);
}

Interval CpuEngine::renew(int /*host*/, runtime::Buffer buffer, std::uint64_t bytes) {
  const Nanos begin = clock_.now();
  failure_.check();
  memory_.renew(buffer, bytes);
  return {begin, clock_.now()};
}

// -- commands -----------------------------------------------------------------------------------

StreamThread& CpuEngine::stream(runtime::Stream id) {
  if (id.id >= streams_.size() || !streams_[id.id]) {
    throw runtime::UsageError("not a stream of this engine");
  }
  return *streams_[id.id];
}

Counter& CpuEngine::flag(runtime::Flag id, std::uint64_t value) {
  if (id.id >= flags_.size()) throw runtime::UsageError("not a flag of this engine");
  if (value >= Counter::kLimit) throw runtime::UsageError("flag values must be below 2^63");
  return flags_[id.id].counter;
}

WaitTarget CpuEngine::flag_reaches(runtime::Flag id, std::uint64_t value) {
  return {&flag(id, value), value, WaitTarget::Meaning::kFlag, id.id};
}

RowCopy CpuEngine::resolve_copy(const runtime::Region& dst, const runtime::Region& src) const {
  return {memory_.base(dst.buffer) + dst.offset,
          memory_.base(src.buffer) + src.offset,
          dst.width,
          dst.rows,
          dst.pitch,
          src.pitch};
}

Action CpuEngine::resolve(const HostState& host, const Command& command) {
  Action action{.name = command.name, .operation = command.operation, .task = {}};
  switch (command.type) {
    case Command::Type::kKernel:
      action.task = host_body(*command.kernel, command.name);
      break;
    case Command::Type::kCopy:
      action.task = resolve_copy(command.dst, command.src);
      break;
    case Command::Type::kGraph: {
      const std::size_t first_node = std::size_t{command.operation} + 1;
      action.task = GraphLaunch{
          host.graphs.at(command.graph.id).get(), command.launch,
          host.operations != nullptr && first_node < host.operations->size()};  // logged by now
      break;
    }
    case Command::Type::kWait:
      action.task = stream(command.target.stream).done(command.target.sequence);
      break;
    case Command::Type::kSignal:
      action.task = Signal{&flag(command.flag, command.value), command.value};
      break;
    case Command::Type::kWaitFlag:
      action.task = flag_reaches(command.flag, command.value);
      break;
  }
  return action;
}

Action CpuEngine::resolve(const runtime::GraphNode& node) {
  Action action{.name = node.name, .task = {}};
  switch (node.type) {
    case runtime::NodeType::kKernel:
      action.task = host_body(node.kernel, node.name);
      break;
    case runtime::NodeType::kCopy:
      action.task = resolve_copy(node.dst, node.src);
      break;
    case runtime::NodeType::kSignal:
      action.task = Signal{&flag(node.flag, node.value), node.value};
      break;
    case runtime::NodeType::kWaitFlag:
      action.task = flag_reaches(node.flag, node.value);
      break;
  }
  return action;
}

void CpuEngine::end_capture(int host_id, runtime::Graph graph, const runtime::GraphScript& script) {
  ActionGraph actions{script.label, {}};
  actions.nodes.reserve(script.nodes.size());
  for (const runtime::GraphNode& node : script.nodes) {
    actions.nodes.push_back({resolve(node), node.cycle});
  }
  auto& graphs = host(host_id).graphs;
  if (graphs.size() <= graph.id) graphs.resize(graph.id + 1);
  graphs[graph.id] = std::make_unique<const ActionGraph>(std::move(actions));
}

Interval CpuEngine::enqueue(int host_id, runtime::Stream stream_id, const Command& command) {
  const Nanos begin = clock_.now();
  failure_.check();
  HostState& caller = host(host_id);
  StreamThread& target = stream(stream_id);
  if (static_cast<int>(target.device()) != host_id) {
    throw runtime::UsageError("host " + std::to_string(host_id) +
                              " cannot enqueue into a stream of device " +
                              std::to_string(target.device()));
  }
  if (!target.enqueue(resolve(caller, command), caller.waiter)) failure_.check();
  if (command.pageable) wait(caller.waiter, target.done(target.enqueued()));
  return {begin, clock_.now()};
}

// -- waiting ------------------------------------------------------------------------------------

void CpuEngine::wait(Waiter& waiter, const WaitTarget& target) {
  waiter.wait(target);
  // Also when it was reached: a stopped stream passes over its commands.
  failure_.check();
}

Interval CpuEngine::record(int /*host*/, runtime::Event /*event*/, runtime::Position /*at*/) {
  const Nanos time = clock_.now();
  return {time, time};
}

Interval CpuEngine::block(int host_id, runtime::SyncPoint point) {
  const Nanos begin = clock_.now();
  wait(host(host_id).waiter, stream(point.position.stream).done(point.position.sequence));
  return {begin, clock_.now()};
}

Interval CpuEngine::block(int host_id, runtime::Flag flag, std::uint64_t value) {
  const Nanos begin = clock_.now();
  wait(host(host_id).waiter, flag_reaches(flag, value));
  return {begin, clock_.now()};
}

bool CpuEngine::reached(int /*host*/, runtime::SyncPoint point) {
  const WaitTarget target = stream(point.position.stream).done(point.position.sequence);
  const bool is_reached = target.counter->reached(target.value);
  failure_.check();
  return is_reached;
}

Interval CpuEngine::busy(int /*host*/, Nanos duration) {
  const Nanos begin = clock_.now();
  Nanos end = begin;
  while (end - begin < duration) end = clock_.now();
  return {begin, end};
}

void CpuEngine::sleep_until(int /*host*/, Nanos time) {
  // In pieces, so that a stopped run does not have to sit through a pause between arrivals.
  constexpr Nanos kPiece = 10'000'000;
  for (Nanos now = clock_.now(); now < time; now = clock_.now()) {
    failure_.check();
    std::this_thread::sleep_until(clock_.at(std::min(time, now + kPiece)));
  }
}

// -- the run ------------------------------------------------------------------------------------

void CpuEngine::run(int hosts, const std::function<void(int)>& main) {
  if (hosts < 1 || hosts > device_count()) {
    throw runtime::UsageError("run: " + std::to_string(hosts) + " hosts for " +
                              std::to_string(device_count()) + " devices");
  }
  for (int id = hosts; id < device_count(); ++id) host(id).waiter.end();
  clock_.restart();
  {
    std::vector<std::jthread> others;
    for (int id = 1; id < hosts; ++id) {
      others.emplace_back([this, id, &main] { run_host(id, main); });
    }
    run_host(0, main);
  }
  drain();
  end_time_ = clock_.now();
  failure_.rethrow();
}

void CpuEngine::run_host(int id, const std::function<void(int)>& main) {
  try {
    main(id);
  } catch (...) {
    failure_.host_failed(id, std::current_exception());
  }
  host(id).waiter.end();
}

void CpuEngine::drain() {
  Waiter drainer("the end of the run", failure_, make_watch());
  for (const auto& stream : streams_) {
    if (stream) drainer.wait(stream->done(stream->enqueued()), Waiter::OnStop::kStay);
  }
}

void CpuEngine::stamp(int host_id, std::span<runtime::Operation> operations) {
  for (const auto& stream : streams_) {
    if (stream && static_cast<int>(stream->device()) == host_id) stream->stamp(operations);
  }
}

}  // namespace

std::unique_ptr<runtime::Engine> make_cpu_engine(const CpuOptions& options, int devices) {
  return std::make_unique<CpuEngine>(options, devices);
}

}  // namespace syncopate::cpu
