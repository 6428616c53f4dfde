// Races: conflicting accesses that nothing orders.
//
// Two accesses conflict when they overlap in one buffer and at least one of them writes. They race
// when neither must end before the other begins. Order is what the program asked for (see
// happens_before.h), never what a clock showed: a run that came out right can still be reported.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// What the later operation does after what the earlier one did.
enum class Hazard : std::uint8_t {
  kReadAfterWrite,   ///< RAW: may read what is not written yet.
  kWriteAfterRead,   ///< WAR: may write what is still read.
  kWriteAfterWrite,  ///< WAW: either may be the last.
};
const char* to_string(Hazard hazard);

/// One pair of unordered operations on one buffer. `earlier` and `later` are indices into the
/// timeline's operations; "earlier" is in the order in which the program issued them, where one
/// host did, and in some order that fits all waits otherwise.
struct Race {
  Hazard hazard = Hazard::kReadAfterWrite;
  std::uint32_t earlier = 0;
  std::uint32_t later = 0;
  runtime::Buffer buffer;
  std::uint64_t begin = 0;  ///< The bytes [begin, end) that both touch: the first such range …
  std::uint64_t end = 0;
  std::uint32_t ranges = 1;  ///< … of this many that were found.
};

/// All races of a timeline, in the order in which their later operation was issued.
///
/// For each access and each other thread of execution (a host, a stream, a lane of a graph) the
/// nearest earlier operation of that thread with an unordered conflicting read, and the nearest
/// with an unordered conflicting write, are reported. That is complete without being quadratic: a
/// thread runs in order, so an edge that makes the reported operation end before the access puts
/// all of the thread's older ones before it too; and a program is free of races if and only if
/// nothing is reported. What a graph launch touches as a whole counts as the last work of its
/// stream's lane. Races of two operations that differ only in the range are one Race.
///
/// Time is linear in calls and accesses where accesses are ordered; an unordered one also costs the
/// way back to the nearest conflict. Throws InvalidTimelineError when the timeline was not recorded
/// with Detail::kAll or contradicts itself, UnsatisfiedWaitError when a wait is never met.
std::vector<Race> find_races(const runtime::Timeline& timeline);

/// One line that names both operations, the bytes and the order that is missing, as
/// "WAR inputs[0]: 'h2d' step 3 (stream h2d) writes bytes 0..512 while 'forward' step 2 (stream
/// compute) may still read them; missing: compute -> h2d".
std::string describe(const runtime::Timeline& timeline, const Race& race);

/// Races that are the same mistake at different steps: equal names, buffer, hazard and distance in
/// steps (later minus earlier).
struct RaceSummary {
  Race first;
  std::uint64_t count = 0;
  std::int64_t step_distance = 0;
};

/// Groups races, in the order of their first examples.
std::vector<RaceSummary> summarize(const runtime::Timeline& timeline, std::span<const Race> races);

/// The first example's line and how often it happened.
std::string describe(const runtime::Timeline& timeline, const RaceSummary& summary);

}  // namespace syncopate::analysis
