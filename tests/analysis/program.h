// Builds timelines by hand, as a runtime would record them: each call appends to its host's log.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

using runtime::Access;
using runtime::Buffer;
using runtime::Event;
using runtime::Flag;
using runtime::Graph;
using runtime::GraphNodeInfo;
using runtime::OperationKind;
using runtime::Position;
using runtime::read;
using runtime::Stream;
using runtime::write;

using Accesses = std::vector<Access>;

class Program {
 public:
  explicit Program(std::uint16_t hosts = 1) : operations_(hosts), calls_(hosts), accesses_(hosts) {
    timeline_.hosts = hosts;
  }

  Stream stream(std::string label) {
    timeline_.streams.push_back({std::move(label), {}, 0});
    sequences_.push_back(0);
    return Stream{static_cast<std::uint32_t>(timeline_.streams.size() - 1)};
  }
  Buffer buffer(std::string label, std::uint64_t bytes = 1024) {
    timeline_.buffers.push_back({std::move(label), {}, 0, bytes});
    return Buffer{static_cast<std::uint32_t>(timeline_.buffers.size() - 1)};
  }
  Graph graph(std::string label, std::vector<GraphNodeInfo> nodes) {
    timeline_.graphs.push_back({std::move(label), std::move(nodes)});
    return Graph{static_cast<std::uint32_t>(timeline_.graphs.size() - 1)};
  }

  /// What follows is made by this host, as part of this step.
  Program& on(std::uint16_t host) {
    host_ = host;
    return *this;
  }
  Program& step(std::int32_t step) {
    step_ = step;
    return *this;
  }

  Position launch(Stream stream, const char* name, const Accesses& accesses,
                  OperationKind kind = OperationKind::kKernel) {
    const std::uint32_t operation = add(kind, name, stream, accesses);
    return command(runtime::CallType::kEnqueue, stream, operation);
  }
  /// `own` is what the launch as a whole touches, `nodes` what each node does.
  Position launch_graph(Graph graph, Stream stream, const char* name, const Accesses& own,
                        const std::vector<Accesses>& nodes) {
    const std::uint32_t operation = add(OperationKind::kGraph, name, stream, own);
    operations_[host_][operation].graph = graph;
    const std::vector<GraphNodeInfo>& infos = timeline_.graphs[graph.id].nodes;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      const std::uint32_t node = add(OperationKind::kGraphNode, infos[i].name, stream,
                                     i < nodes.size() ? nodes[i] : Accesses{});
      operations_[host_][node].kind_in_graph = infos[i].kind;
      operations_[host_][node].node = static_cast<std::uint16_t>(i);
      operations_[host_][node].graph = graph;
    }
    return command(runtime::CallType::kEnqueue, stream, operation);
  }
  void span(const char* name, const Accesses& accesses) {
    const std::uint32_t operation = add(OperationKind::kHostSpan, name, Stream{}, accesses);
    call(runtime::CallType::kSpan).operation = operation;
  }

  void record(Event event, Stream stream) {
    events_[event.id] = {stream, sequences_[stream.id]};
    runtime::Call& made = call(runtime::CallType::kRecord);
    made.event = event;
    made.at = events_[event.id];
  }
  /// Binds to the newest record; to none if there is none.
  void wait(Stream stream, Event event) { wait(stream, events_[event.id]); }
  void wait(Stream stream, Position target, bool implicit = false) {
    if (target.sequence == 0) {  // orders nothing and never enters the stream
      call(runtime::CallType::kWait).at = {stream, sequences_[stream.id]};
      return;
    }
    command(runtime::CallType::kWait, stream);
    calls_[host_].back().target = target;
    calls_[host_].back().implicit = implicit;
  }
  void signal(Stream stream, Flag flag, std::uint64_t value) {
    command(runtime::CallType::kSignal, stream);
    calls_[host_].back().flag = flag;
    calls_[host_].back().value = value;
  }
  void wait(Stream stream, Flag flag, std::uint64_t value) {
    command(runtime::CallType::kWaitFlag, stream);
    calls_[host_].back().flag = flag;
    calls_[host_].back().value = value;
  }
  void block(Position target) { call(runtime::CallType::kBlock).target = target; }
  void block(Event event) { block(events_[event.id]); }
  void block(Flag flag, std::uint64_t value) {
    runtime::Call& made = call(runtime::CallType::kBlockFlag);
    made.flag = flag;
    made.value = value;
  }
  void see(Event event) { call(runtime::CallType::kSeen).target = events_[event.id]; }
  Position end_of(Stream stream) const { return {stream, sequences_[stream.id]}; }

  /// The timeline so far, grouped by host.
  runtime::Timeline timeline() const {
    runtime::Timeline merged = timeline_;
    for (std::size_t host = 0; host < calls_.size(); ++host) {
      const auto first_operation = static_cast<std::uint32_t>(merged.operations.size());
      const auto first_access = static_cast<std::uint32_t>(merged.accesses.size());
      for (runtime::Operation operation : operations_[host]) {
        operation.first_access += first_access;
        merged.operations.push_back(operation);
      }
      for (runtime::Call made : calls_[host]) {
        if (made.operation != UINT32_MAX) made.operation += first_operation;
        merged.calls.push_back(made);
      }
      merged.accesses.insert(merged.accesses.end(), accesses_[host].begin(), accesses_[host].end());
    }
    return merged;
  }

 private:
  std::uint32_t add(OperationKind kind, const char* name, Stream stream, const Accesses& accesses) {
    runtime::Operation& operation = operations_[host_].emplace_back();
    operation.kind = kind;
    operation.name = name;
    operation.host = host_;
    operation.step = step_;
    operation.stream = stream;
    operation.first_access = static_cast<std::uint32_t>(accesses_[host_].size());
    operation.access_count = static_cast<std::uint32_t>(accesses.size());
    accesses_[host_].insert(accesses_[host_].end(), accesses.begin(), accesses.end());
    return static_cast<std::uint32_t>(operations_[host_].size() - 1);
  }
  runtime::Call& call(runtime::CallType type) {
    runtime::Call& made = calls_[host_].emplace_back();
    made.type = type;
    made.host = host_;
    made.site = "site";
    return made;
  }
  Position command(runtime::CallType type, Stream stream, std::uint32_t operation = UINT32_MAX) {
    runtime::Call& made = call(type);
    made.at = {stream, ++sequences_[stream.id]};
    made.operation = operation;
    return made.at;
  }

  runtime::Timeline timeline_;  // all but what hosts log
  std::vector<std::vector<runtime::Operation>> operations_;
  std::vector<std::vector<runtime::Call>> calls_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::uint64_t> sequences_;
  std::map<std::uint32_t, Position> events_;
  std::uint16_t host_ = 0;
  std::int32_t step_ = runtime::kNoStep;
};

}  // namespace syncopate::analysis
