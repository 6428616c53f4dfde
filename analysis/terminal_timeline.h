// A timeline as lines of text: a few steps, one row for the host and one for each stream.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/step_range.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// `count` steps from the middle of the run, where it has settled: fewer if it has fewer; none if
/// no operation with known times belongs to a step. `count` is at least 1.
std::optional<StepRange> middle_steps(const runtime::Timeline& timeline, std::size_t count);

struct TerminalStyle {
  std::size_t width = 100;  ///< Of the longest line, in columns; less than 24 counts as 24.
  bool colour = false;      ///< With ANSI colours, which take no columns. The glyphs stay.
};

/// Draws all that goes on from the first operation of `steps` to their last one: a line that says
/// when, one row for each host and each stream that was busy then, a scale, and the legend.
///
/// A column stands for an equal share of that time. What is shorter than a column still takes one;
/// of several in one column the shortest is seen, and the host's work before its calls. A bar that
/// has room bears its step's number, and begins with a '|' where the one before it is of its kind
/// and ends there. Operations with unknown times are not drawn; a graph is one bar. Works with
/// either detail. ASCII only, as long as the streams' labels are. Throws InvalidTimelineError when
/// an operation names a stream that is not there, and when none with known times belongs to
/// `steps`.
std::vector<std::string> draw_timeline(const runtime::Timeline& timeline, StepRange steps,
                                       const TerminalStyle& style);

}  // namespace syncopate::analysis
