#include "analysis/terminal_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/error.h"
#include "analysis/timeline_lanes.h"

namespace syncopate::analysis {
namespace {

using runtime::Nanos;
using runtime::Operation;
using runtime::Timeline;

/// How a mark is shown.
struct Look {
  char glyph;
  std::string_view colour;  ///< Select Graphic Rendition: black on Okabe and Ito's colours.
  std::string_view meaning;
};
/// By mark; the legend has their order.
constexpr std::array<Look, 8> kLooks = {{{'.', "2", "idle"},
                                         {'#', "30;48;5;214", "host work"},
                                         {'+', "30;48;5;228", "call"},
                                         {'~', "30;48;5;250", "host blocked"},
                                         {'>', "30;48;5;74", "h2d"},
                                         {'=', "30;48;5;36", "compute"},
                                         {'<', "30;48;5;175", "d2h"},
                                         {'x', "30;48;5;67", "device copy"}}};

const Look& look(Mark mark) { return kLooks[static_cast<std::size_t>(mark)]; }

/// The time that is drawn, and the columns that it is drawn on.
struct Scale {
  Nanos begin = 0;
  Nanos span = 1;
  std::size_t columns = 1;

  /// The column boundary that is nearest.
  std::size_t boundary(Nanos time) const {
    const auto n = static_cast<Nanos>(columns);
    const Nanos offset = std::clamp<Nanos>(time - begin, 0, span);
    return static_cast<std::size_t>((2 * offset * n + span) / (2 * span));
  }
  /// What only touches the time from outside is not shown.
  bool shows(const Piece& p) const {
    return (p.end > begin || p.start == begin) && (p.start < begin + span || p.end == begin + span);
  }
};

constexpr std::size_t kNoPiece = SIZE_MAX;

struct Cell {
  Mark mark = Mark::kIdle;
  char text = look(Mark::kIdle).glyph;
  std::size_t piece = kNoPiece;
};

std::vector<Cell> paint(const Lane& lane, const Scale& scale) {
  std::vector<Cell> cells(scale.columns);
  std::vector<Piece> pieces;
  std::ranges::copy_if(lane.pieces, std::back_inserter(pieces),
                       [&](const Piece& p) { return scale.shows(p); });
  // What comes later is seen: short before long, and of what is shorter than a column, the host's
  // work before its calls.
  const Nanos column = scale.span / static_cast<Nanos>(scale.columns);
  std::ranges::stable_sort(pieces, {}, [&](const Piece& p) {
    const bool small = p.end - p.start <= column;
    return std::tuple(small, p.mark != Mark::kCall, p.start - p.end);
  });
  std::vector<std::size_t> bars;  // where the pieces that are bars begin
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece& piece = pieces[p];
    const std::size_t first = std::min(scale.boundary(piece.start), scale.columns - 1);
    const std::size_t last = std::max(scale.boundary(piece.end), first + 1);
    std::fill(cells.begin() + static_cast<std::ptrdiff_t>(first),
              cells.begin() + static_cast<std::ptrdiff_t>(last),
              Cell{piece.mark, look(piece.mark).glyph, p});
    if (last - first >= 3) bars.push_back(first);
    if (piece.step < 0) continue;
    const std::string number = std::to_string(piece.step);
    if (last - first < number.size() + 2) continue;
    const std::size_t at = first + (last - first - number.size()) / 2;
    for (std::size_t i = 0; i < number.size(); ++i) cells[at + i].text = number[i];
  }
  // Two bars of one kind, one right after the other, would look like one.
  for (const std::size_t first : bars) {
    if (first == 0) continue;
    const Cell& before = cells[first - 1];
    Cell& cell = cells[first];
    if (before.mark == cell.mark && before.piece != cell.piece) cell.text = '|';
  }
  return cells;
}

void append(std::string& line, const std::vector<Cell>& cells, bool colour) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (colour && (i == 0 || cells[i].mark != cells[i - 1].mark)) {
      line += fmt::format("\033[0;{}m", look(cells[i].mark).colour);
    }
    line += cells[i].text;
  }
  if (colour) line += "\033[0m";
}

struct Unit {
  Nanos nanos;
  std::string_view name;
};
Unit unit_of(Nanos time) {
  if (time >= 2'000'000'000) return {1'000'000'000, "s"};
  if (time >= 2'000'000) return {1'000'000, "ms"};
  return {1'000, "us"};
}
/// Six digits tell neighbouring steps of a long run apart.
std::string in_unit(Nanos time, Unit unit, int digits = 6) {
  return fmt::format("{:.{}g}", static_cast<double>(time) / static_cast<double>(unit.nanos),
                     digits);
}

/// 1, 2 or 5 times a power of ten nanoseconds, at least `columns` wide.
Nanos tick(const Scale& scale, std::size_t columns) {
  const auto least = scale.span * static_cast<Nanos>(columns) / static_cast<Nanos>(scale.columns);
  Nanos power = 1;
  while (power * 10 <= least) power *= 10;
  for (const Nanos step : {power, 2 * power, 5 * power}) {
    if (step >= least) return step;
  }
  return 10 * power;
}

std::string ruler(const Scale& scale) {
  std::string line(scale.columns, ' ');
  const Unit unit = unit_of(scale.span);
  const Nanos step = tick(scale, 12);
  for (Nanos at = 0; at <= scale.span; at += step) {
    const std::string mark =
        at == 0 ? fmt::format("|0 {}", unit.name) : fmt::format("|{}", in_unit(at, unit));
    const std::size_t column = scale.boundary(scale.begin + at);
    if (column + mark.size() <= line.size()) line.replace(column, mark.size(), mark);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Entries one after the other, on as many lines as it takes.
void add_wrapped(std::vector<std::string>& lines, std::size_t width, std::size_t indent,
                 const std::vector<std::pair<std::string, std::size_t>>& entries) {
  std::size_t used = width + 1;
  for (const auto& [text, columns] : entries) {
    if (used + 2 + columns > width) {
      lines.emplace_back(indent, ' ');
      used = indent;
    } else {
      lines.back() += "  ";
      used += 2;
    }
    lines.back() += text;
    used += columns;
  }
}

Scale window(const std::vector<Lane>& lanes, StepRange steps) {
  Nanos begin = INT64_MAX;
  Nanos end = -1;
  for (const Lane& lane : lanes) {
    for (const Piece& piece : lane.pieces) {
      if (!steps.contains(piece.step)) continue;
      begin = std::min(begin, piece.start);
      end = std::max(end, piece.end);
    }
  }
  if (end < 0) {
    throw InvalidTimelineError(fmt::format(
        "no operation with known times belongs to steps {} to {}", steps.first, steps.last));
  }
  return {begin, std::max<Nanos>(end - begin, 1), 1};
}

}  // namespace

std::optional<StepRange> middle_steps(const Timeline& timeline, std::size_t count) {
  std::vector<std::int32_t> steps;
  for (const Operation& op : timeline.operations) {
    if (is_drawn(op) && op.step >= 0) steps.push_back(op.step);
  }
  std::ranges::sort(steps);
  const auto repeated = std::ranges::unique(steps);
  steps.erase(repeated.begin(), repeated.end());
  if (steps.empty()) return std::nullopt;
  count = std::min(count, steps.size());
  const std::size_t first = (steps.size() - count) / 2;
  return StepRange{steps[first], steps[first + count - 1]};
}

std::vector<std::string> draw_timeline(const Timeline& timeline, StepRange steps,
                                       const TerminalStyle& style) {
  std::vector<Lane> lanes = lanes_of(timeline);
  Scale scale = window(lanes, steps);
  std::erase_if(lanes, [&](const Lane& lane) {
    const bool host = lane.first_mark == Mark::kIdle;
    return !host &&
           std::ranges::none_of(lane.pieces, [&](const Piece& p) { return scale.shows(p); });
  });
  const std::size_t width = std::max<std::size_t>(style.width, 24);
  std::size_t label_width = 0;
  for (const Lane& lane : lanes) label_width = std::max(label_width, lane.label.size());
  label_width = std::min(label_width, width / 4);
  scale.columns = width - label_width - 1;

  const Unit unit = unit_of(scale.span);
  const Unit long_unit = unit_of(scale.begin + scale.span);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("steps {} to {}: {} {} from {} {} on", steps.first, steps.last,
                              in_unit(scale.span, unit, 4), unit.name,
                              in_unit(scale.begin, long_unit), long_unit.name)
                      .substr(0, width));
  std::array<bool, kLooks.size()> seen{};
  for (const Lane& lane : lanes) {
    const std::vector<Cell> cells = paint(lane, scale);
    for (const Cell& cell : cells) seen[static_cast<std::size_t>(cell.mark)] = true;
    std::string& line =
        lines.emplace_back(fmt::format("{:<{}} ", lane.label.substr(0, label_width), label_width));
    append(line, cells, style.colour);
  }
  lines.push_back(std::string(label_width + 1, ' ') + ruler(scale));
  std::vector<std::pair<std::string, std::size_t>> legend;
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    if (!seen[i]) continue;
    const Look& l = kLooks[i];
    const std::string glyph = style.colour ? fmt::format("\033[0;{}m{}\033[0m", l.colour, l.glyph)
                                           : std::string(1, l.glyph);
    legend.emplace_back(fmt::format("{} {}", glyph, l.meaning), 2 + l.meaning.size());
  }
  add_wrapped(lines, width, label_width + 1, legend);
  return lines;
}

}  // namespace syncopate::analysis
