// Half-open intervals of time in whole nanoseconds, and how much of the clock a set of them covers.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::analysis {

struct Interval {
  runtime::Nanos begin = 0;
  runtime::Nanos end = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Sorts the intervals and merges those that overlap or touch; empty ones vanish. In place.
inline void merge(std::vector<Interval>& intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.begin >= i.end; });
  if (!std::ranges::is_sorted(intervals, {}, &Interval::begin)) {
    std::ranges::sort(intervals, {}, &Interval::begin);
  }
  std::size_t merged = 0;
  for (const Interval& next : intervals) {
    if (merged > 0 && next.begin <= intervals[merged - 1].end) {
      intervals[merged - 1].end = std::max(intervals[merged - 1].end, next.end);
    } else {
      intervals[merged++] = next;
    }
  }
  intervals.resize(merged);
}

/// The nanoseconds covered by merged intervals.
inline runtime::Nanos length(std::span<const Interval> merged) {
  runtime::Nanos total = 0;
  for (const Interval& interval : merged) total += interval.end - interval.begin;
  return total;
}

}  // namespace syncopate::analysis
