#include "experiments/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace syncopate::experiments::cli {
namespace {

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows, bool bold_head) {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns) {
    widths.push_back(width(column.title));
    titles.push_back(column.title);
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string padding(widths[i] - width(cells[i]), ' ');
      if (i > 0) out += "  ";
      out += columns[i].right ? padding + cells[i] : cells[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::string out = bold_head ? "\033[1m" + line(titles) + "\033[0m\n" : line(titles) + '\n';
  for (const auto& row : rows) out += line(row) + '\n';
  return out;
}

}  // namespace syncopate::experiments::cli
