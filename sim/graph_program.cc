#include "sim/graph_program.h"

namespace syncopate::sim {

using runtime::GraphNode;
using runtime::NodeType;

GraphProgram::GraphProgram(const runtime::GraphScript& script, const CostModel& costs) {
  const std::size_t count = script.nodes.size();
  nodes.resize(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const GraphNode& from = script.nodes[i];
    Node& node = nodes[i];
    node.type = from.type;
    switch (from.type) {
      case NodeType::kKernel:
        node.work = from.cost.work;
        node.meeting = from.meeting;
        node.duration = costs.kernel(from.cost);
        break;
      case NodeType::kCopy:
        node.engine = copy_engine_of(from.kind);
        node.duration = costs.copy(node.engine, from.src.bytes(), false);
        break;
      case NodeType::kSignal:
      case NodeType::kWaitFlag:
        node.flag = from.flag.id;
        node.value = from.value;
        node.cycle = from.cycle;
        counts_launches |= from.cycle != 0;
        node.implicit = from.implicit;
        break;
    }
    if (!node.implicit) ++calls;
    node.predecessors = static_cast<std::uint16_t>(from.after.size());
    for (const std::uint16_t before : from.after) ++nodes[before + 1].first_successor;
  }
  // Each node has the count of the one before it: summed up, they are where lists start. Filled
  // from their ends, with the starts as cursors that come to rest where they belong.
  for (std::size_t i = 1; i <= count; ++i) {
    nodes[i].first_successor += nodes[i - 1].first_successor;
  }
  successors.resize(nodes[count].first_successor);
  for (std::size_t i = 0; i < count; ++i) nodes[i].first_successor = nodes[i + 1].first_successor;
  for (std::size_t i = count; i-- > 0;) {
    for (const std::uint16_t before : script.nodes[i].after) {
      successors[--nodes[before].first_successor] = static_cast<std::uint16_t>(i);
    }
  }
}

std::uint32_t GraphProgram::take_launch(bool with_effects) {
  if (free_launches.empty()) {
    durations.resize(durations.size() + size());
    if (with_effects) effects.resize(effects.size() + nodes.size());
    if (counts_launches) numbers.push_back(0);
    return launches++;
  }
  const std::uint32_t taken = free_launches.back();
  free_launches.pop_back();
  return taken;
}

}  // namespace syncopate::sim
