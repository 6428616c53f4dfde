// A timeline as lanes of pieces: what each host and each stream did when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// What a piece is, in the order of a step's way.
enum class Mark : std::uint8_t { kIdle, kSpan, kCall, kBlock, kH2d, kCompute, kD2h, kCopy };

struct Piece {
  Mark mark;
  std::int32_t step;
  runtime::Nanos start;
  runtime::Nanos end;
};

/// A host, or a stream that was used.
struct Lane {
  std::string label;
  std::uint16_t device = 0;
  Mark first_mark = Mark::kCopy;  ///< The least of a stream's pieces; of a host kIdle.
  std::vector<Piece> pieces;
};

/// Whether an operation is a piece: its times are known, and it is no node of a graph, which is one
/// piece.
bool is_drawn(const runtime::Operation& operation);

/// Each host above its device's streams, which stand in the order of their first marks. A host's
/// pieces are its spans and blocks, and the calls that started something. Throws
/// InvalidTimelineError when an operation names a host or a stream that is not there.
std::vector<Lane> lanes_of(const runtime::Timeline& timeline);

}  // namespace syncopate::analysis
