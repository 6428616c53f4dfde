#include "backend/cpu/stream_thread.h"

#include <chrono>
#include <string>

#include "backend/runtime/kernel.h"

namespace syncopate::cpu {
namespace {

template <class... Fns>
struct Overloaded : Fns... {
  using Fns::operator()...;
};

constexpr std::size_t kFirstStamps = std::size_t{1} << 16;

/// A signal or wait by value becomes one for a value that is higher by `amount`.
void advance(Action& action, std::uint64_t amount) {
  if (auto* signal = std::get_if<Signal>(&action.task)) signal->value += amount;
  if (auto* wait = std::get_if<WaitTarget>(&action.task)) wait->value += amount;
}

}  // namespace

StreamThread::StreamThread(runtime::Stream id, std::uint32_t device, std::size_t capacity,
                           Chaos chaos, const Shared& shared)
    : id_(id),
      device_(device),
      capacity_(capacity),
      shared_(shared),
      slots_(std::make_unique<Slot[]>(capacity)),
      waiter_("stream " + std::to_string(id.id), shared.failure),
      chaos_(chaos) {
  stamps_.reserve(kFirstStamps);
  thread_ = std::thread([this] { main(); });
}

StreamThread::~StreamThread() {
  Waiter destroyer("destructor", shared_.failure);
  enqueue({.task = Exit{}}, destroyer, Waiter::OnStop::kStay);
  thread_.join();
}

bool StreamThread::enqueue(const Action& action, Waiter& host, Waiter::OnStop on_stop) {
  const std::uint64_t sequence = enqueued_ + 1;
  Slot& place = slot(sequence);
  if (sequence > capacity_) {
    const std::uint64_t previous = sequence - capacity_;
    const WaitTarget room{&place.done, previous, WaitTarget::Meaning::kRoom, id_.id};
    if (!host.wait(room, on_stop)) return false;
  }
  place.action = action;
  place.put.raise(sequence);
  enqueued_ = sequence;
  return true;
}

void StreamThread::main() {
  for (;; ++sequence_) {
    Slot& next = slot(sequence_);
    waiter_.wait({&next.put, sequence_, WaitTarget::Meaning::kCommand, id_.id},
                 Waiter::OnStop::kStay);
    if (std::holds_alternative<Exit>(next.action.task)) return;
    run(next.action, next.action.operation);
    next.done.raise(sequence_);
  }
}

// A stopped run is drained: commands are passed over, so that nobody waits for them for ever.
void StreamThread::run(const Action& action, std::uint32_t operation) {
  if (shared_.failure.stopped()) return;
  try {
    std::visit(Overloaded{
                   [&](const runtime::Body& body) {
                     timed(operation, [&] {
                       runtime::Exec exec(shared_.bases.data(), nullptr);
                       body(exec);
                     });
                   },
                   [&](const RowCopy& copy) { timed(operation, copy); },
                   [&](const GraphLaunch& launch) { run_graph(launch, operation); },
                   [&](WaitTarget target) {
                     target.at = sequence_;
                     waiter_.wait(target);
                   },
                   [&](const Signal& signal) { signal.counter->raise(signal.value); },
                   [](const Exit&) {},
               },
               action.task);
  } catch (...) {
    shared_.failure.operation_failed(action.name, current_reason());
  }
}

template <class Fn>
void StreamThread::timed(std::uint32_t operation, Fn&& fn) {
  chaos_.delay();
  const runtime::Nanos start = shared_.clock.now();
  fn();
  if (operation != runtime::Command::kNoOperation) {
    stamps_.push_back({operation, start, shared_.clock.now()});
  }
  chaos_.delay();
}

void StreamThread::run_graph(const GraphLaunch& launch, std::uint32_t operation) {
  const runtime::Nanos start = shared_.clock.now();
  std::uint32_t node_operation = launch.nodes_logged ? operation : runtime::Command::kNoOperation;
  for (const ActionGraph::Node& node : launch.graph->nodes) {
    if (launch.nodes_logged) ++node_operation;
    if (node.cycle == 0) {
      run(node.action, node_operation);
    } else {
      Action action = node.action;
      advance(action, launch.number * node.cycle);
      run(action, node_operation);
    }
  }
  if (shared_.failure.stopped()) return;
  stamps_.push_back({operation, start, shared_.clock.now()});
}

void StreamThread::stamp(std::span<runtime::Operation> operations) const {
  for (const Stamp& stamp : stamps_) {
    operations[stamp.operation].start = stamp.start;
    operations[stamp.operation].end = stamp.end;
  }
}

}  // namespace syncopate::cpu
