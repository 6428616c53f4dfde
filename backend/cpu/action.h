// Action: a command as a stream's thread runs it, with handles resolved to addresses. A graph is a
// list of the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "backend/cpu/counter.h"
#include "backend/cpu/waiter.h"
#include "backend/runtime/command.h"

namespace syncopate::cpu {

/// Copies `rows` rows of `width` bytes.
struct RowCopy {
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
  std::uint64_t width = 0;
  std::uint64_t rows = 0;
  std::uint64_t dst_pitch = 0;
  std::uint64_t src_pitch = 0;

  void operator()() const;
};

struct Signal {
  Counter* counter = nullptr;
  std::uint64_t value = 0;
};

struct ActionGraph;

struct GraphLaunch {
  const ActionGraph* graph = nullptr;
  std::uint64_t number = 0;   ///< Of launches before it.
  bool nodes_logged = false;  ///< Whether the nodes have operations, just behind the graph's own.
};

/// The end of a stream's thread.
struct Exit {};

struct Action {
  runtime::Name name = "";
  /// Index into the host's operations; kNoOperation when nobody wants the times.
  std::uint32_t operation = runtime::Command::kNoOperation;
  std::variant<Exit, runtime::Body, RowCopy, GraphLaunch, WaitTarget, Signal> task;
};

// Enqueueing writes an action over an old one and allocates nothing.
static_assert(std::is_trivially_copyable_v<Action>);

/// A captured script, run node by node in its order by the thread of the stream that it is launched
/// into: one of the schedules that the script allows. It is one without overlap inside the graph,
/// and a flag that a node waits for must not depend on a later node of the same graph.
struct ActionGraph {
  struct Node {
    Action action;
    std::uint64_t cycle = 0;  ///< Added to a flag's value for each earlier launch.
  };
  std::string label;
  std::vector<Node> nodes;
};

}  // namespace syncopate::cpu
