// Races by name, so that a test can say which ones it expects.
#pragma once

#include <set>
#include <string>

#include "analysis/races.h"
#include "backend/runtime/timeline.h"

namespace syncopate::batching {

using Races = std::set<std::string>;

/// Each race as "HAZARD buffer: earlier -> later +distance in steps", slot numbers dropped.
inline Races races_of(const runtime::Timeline& timeline) {
  Races found;
  for (const analysis::Race& race : analysis::find_races(timeline)) {
    const runtime::Operation& earlier = timeline.operations[race.earlier];
    const runtime::Operation& later = timeline.operations[race.later];
    std::string buffer = timeline.buffers[race.buffer.id].label;
    buffer.erase(buffer.find_last_not_of("0123456789") + 1);
    found.insert(std::string(analysis::to_string(race.hazard)) + " " + buffer + ": " +
                 earlier.name + " -> " + later.name + " +" +
                 std::to_string(later.step - earlier.step));
  }
  return found;
}

/// Those of the strategy `unordered`: the three links of the chain that it lacks, and the three
/// reuses of its one slot that hang on them.
inline Races unordered_races() {
  return {"RAW inputs: h2d -> forward +0",      "RAW outputs: forward -> d2h +0",
          "RAW host_outputs: d2h -> update +0", "WAR host_inputs: h2d -> prepare +1",
          "WAR inputs: forward -> h2d +1",      "WAR outputs: d2h -> forward +1"};
}

}  // namespace syncopate::batching
