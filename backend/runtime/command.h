// Commands: what a host puts into a stream, and scripts of them. This is the language between the
// front end (Host) and an engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/runtime/cost.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/timeline.h"

namespace syncopate::runtime {

/// Per-launch values of one node of a graph: what its cost is this time and which ranges it touches
/// beyond those that it was captured with.
struct NodeArgs {
  std::uint16_t node = 0;
  Cost cost;
  std::span<const Access> extra;
};

/// One command of a stream. Spans and pointers are valid only during Engine::enqueue: an engine
/// copies what it keeps.
struct Command {
  enum class Type : std::uint8_t { kKernel, kCopy, kGraph, kWait, kSignal, kWaitFlag };

  static constexpr std::uint32_t kNoOperation = UINT32_MAX;

  Type type = Type::kKernel;
  OperationKind kind = OperationKind::kKernel;  ///< kKernel, kCopy, kGraph.
  bool pageable = false;  ///< kCopy: one side is pageable memory; the host blocks on it.
  Name name = "";
  std::uint32_t operation = kNoOperation;  ///< Index into the host's operations, for its times.
  const Kernel* kernel = nullptr;          ///< kKernel.
  Meeting meeting;                         ///< kKernel: of a collective.
  Cost cost;                               ///< kKernel.
  std::span<const Access> accesses;        ///< kKernel and kCopy.
  Region dst, src;                         ///< kCopy.
  Graph graph;                             ///< kGraph.
  std::span<const NodeArgs> node_args;     ///< kGraph.
  std::uint64_t launch = 0;                ///< kGraph: how often it was launched before.
  Event event;                             ///< kWait: for engines with events of their own.
  Position target;                         ///< kWait: never past what has been enqueued.
  Flag flag;                               ///< kSignal, kWaitFlag.
  std::uint64_t value = 0;
  /// kSignal, kWaitFlag: what a collective stands for. Where kernels meet by themselves there is
  /// nothing to do.
  bool implicit = false;
};

/// A captured node, self-contained. Its order is in `after`, as GraphNodeInfo says.
struct GraphNode {
  NodeType type = NodeType::kKernel;
  OperationKind kind = OperationKind::kKernel;
  Name name = "";
  std::uint16_t lane = 0;
  Kernel kernel;
  Cost cost;
  Meeting meeting;
  std::vector<Access> accesses;
  Region dst, src;
  Flag flag;
  std::uint64_t value = 0;
  std::uint64_t cycle = 0;
  bool implicit = false;  ///< As in Command.
  std::vector<std::uint16_t> after;
};

/// A graph: nodes in the order of their capture, which is a valid order to run them in.
struct GraphScript {
  std::string label;
  std::vector<GraphNode> nodes;
};

}  // namespace syncopate::runtime
