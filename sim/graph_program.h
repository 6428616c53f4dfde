// A captured graph as the simulator runs it: nodes with nominal durations and successor lists, and
// the state of the one launch that may be in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/runtime/command.h"
#include "sim/cost_model.h"

namespace syncopate::sim {

struct GraphProgram {
  struct Node {
    runtime::NodeType type = runtime::NodeType::kKernel;
    runtime::Work work = runtime::Work::kNone;
    CopyEngine engine = CopyEngine::kH2D;
    runtime::Nanos duration = 0;  ///< Nominal, with the costs of the capture.
    runtime::Meeting meeting;     ///< Of a collective's kernel.
    std::uint32_t flag = 0;
    std::uint64_t value = 0;
    bool implicit = false;              ///< Nothing: its collective's kernels meet by themselves.
    std::uint64_t cycle = 0;            ///< Added to the value for each earlier launch.
    std::uint32_t first_successor = 0;  ///< Into successors; they end where the next node's begin.
    std::uint16_t predecessors = 0;
    std::uint16_t missing = 0;  ///< Of the launch in flight: predecessors still to end.
  };

  GraphProgram() = default;
  GraphProgram(const runtime::GraphScript& script, const CostModel& costs);

  std::size_t size() const { return nodes.size() - 1; }
  std::size_t calls = 0;         ///< Nodes that the host pays for: all but implicit ones.
  bool counts_launches = false;  ///< A flag's value advances with each launch.
  const std::uint16_t* successors_begin(std::uint32_t node) const {
    return successors.data() + nodes[node].first_successor;
  }
  const std::uint16_t* successors_end(std::uint32_t node) const {
    return successors.data() + nodes[node + 1].first_successor;
  }

  std::vector<Node> nodes;  ///< One more than there are: the end of the last one's successors.
  std::vector<std::uint16_t> successors;

  /// The values of one launch, from its enqueue to its end. Launches may be enqueued while earlier
  /// ones are in flight, so there are several sets, used again once free.
  std::uint32_t take_launch(bool with_effects);
  void free_launch(std::uint32_t which) { free_launches.push_back(which); }
  runtime::Nanos* durations_of(std::uint32_t which) { return durations.data() + which * size(); }
  /// One for each node, and one for the launch as a whole.
  std::uint32_t* effects_of(std::uint32_t which) { return effects.data() + which * nodes.size(); }

  std::vector<runtime::Nanos> durations;
  std::vector<std::uint32_t> effects;  ///< Handles of Effects, where they are on.
  std::vector<std::uint64_t> numbers;  ///< How many launches came before, where a flag advances.
  std::vector<std::uint32_t> free_launches;
  std::uint32_t launches = 0;  ///< Sets made so far.

  // The launch in flight.
  bool running = false;
  bool nodes_logged = false;  ///< The host's operations hold one for each node.
  std::uint32_t stream = 0;
  std::uint32_t launch = 0;
  std::uint32_t left = 0;              ///< Nodes that have not ended.
  std::vector<std::uint32_t> waiting;  ///< Streams whose launch of this graph waits for its end.

  std::uint32_t first_task = 0;  ///< Number of node 0 among the nodes of all graphs.
};

}  // namespace syncopate::sim
