#include "analysis/races.h"

#include <fmt/format.h>

#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analysis/access_history.h"
#include "analysis/happens_before.h"

namespace syncopate::analysis {

using runtime::Operation;
using runtime::OperationKind;

namespace {

/// Where an operation ran, as a person calls it: "host 0", "compute", "compute lane 1".
std::string place_of(const runtime::Timeline& timeline, const Operation& op) {
  if (op.kind == OperationKind::kHostSpan) return fmt::format("host {}", op.host);
  const std::string& label = timeline.streams[op.stream.id].label;
  if (op.kind != OperationKind::kGraphNode) return label;
  const runtime::GraphInfo& graph = timeline.graphs[op.graph.id];
  const std::uint16_t lane = graph.nodes[op.node].lane;
  return lane == 0 ? label : fmt::format("{} lane {}", label, lane);
}

std::string name_of(const runtime::Timeline& timeline, const Operation& op) {
  const std::string place = place_of(timeline, op);
  const std::string step = op.step == runtime::kNoStep ? "" : fmt::format(" step {}", op.step);
  const char* const stream = op.kind == OperationKind::kHostSpan ? "" : "stream ";
  return fmt::format("'{}'{} ({}{})", op.name, step, stream, place);
}

}  // namespace

const char* to_string(Hazard hazard) {
  switch (hazard) {
    case Hazard::kReadAfterWrite:
      return "RAW";
    case Hazard::kWriteAfterRead:
      return "WAR";
    case Hazard::kWriteAfterWrite:
      return "WAW";
  }
  return "?";
}

std::vector<Race> find_races(const runtime::Timeline& timeline) {
  AccessHistory history(timeline);
  HappensBefore(timeline, history).replay();
  return history.take_races();
}

std::string describe(const runtime::Timeline& timeline, const Race& race) {
  const Operation& earlier = timeline.operations[race.earlier];
  const Operation& later = timeline.operations[race.later];
  const char* const does = race.hazard == Hazard::kReadAfterWrite ? "reads" : "writes";
  const char* const may = race.hazard == Hazard::kWriteAfterRead ? "may still read them"
                          : race.hazard == Hazard::kWriteAfterWrite
                              ? "may still write them"
                              : "may not have written them yet";
  const std::string more =
      race.ranges == 1 ? "" : fmt::format(" (and {} more ranges)", race.ranges - 1);
  return fmt::format("{} {}: {} {} bytes {}..{}{} while {} {}; missing: {} -> {}",
                     to_string(race.hazard), timeline.buffers[race.buffer.id].label,
                     name_of(timeline, later), does, race.begin, race.end, more,
                     name_of(timeline, earlier), may, place_of(timeline, earlier),
                     place_of(timeline, later));
}

std::vector<RaceSummary> summarize(const runtime::Timeline& timeline, std::span<const Race> races) {
  // Equal texts may be stored twice (one of each call site), so names are compared by value.
  using Key = std::tuple<std::string_view, std::string_view, std::uint32_t, Hazard, std::int64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::hash<std::string_view> text;
      std::size_t hash = text(std::get<0>(key));
      const auto mix = [&hash](std::size_t value) { hash = hash * 0x9e3779b97f4a7c15U + value; };
      mix(text(std::get<1>(key)));
      mix(std::get<2>(key));
      mix(static_cast<std::size_t>(std::get<3>(key)));
      mix(static_cast<std::size_t>(std::get<4>(key)));
      return hash;
    }
  };
  std::vector<RaceSummary> summaries;
  std::unordered_map<Key, std::size_t, Hash> index;
  for (const Race& race : races) {
    const Operation& earlier = timeline.operations[race.earlier];
    const Operation& later = timeline.operations[race.later];
    const std::int64_t distance = std::int64_t{later.step} - earlier.step;
    const Key key{earlier.name, later.name, race.buffer.id, race.hazard, distance};
    const auto [entry, added] = index.try_emplace(key, summaries.size());
    if (added) summaries.push_back({race, 0, distance});
    ++summaries[entry->second].count;
  }
  return summaries;
}

std::string describe(const runtime::Timeline& timeline, const RaceSummary& summary) {
  const std::string first = describe(timeline, summary.first);
  return summary.count == 1 ? first : fmt::format("{} [{} times]", first, summary.count);
}

}  // namespace syncopate::analysis
