#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/yaml/node.h"

namespace syncopate::experiments::yaml {
namespace {

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string scalar(const Node& node) {
  if (node.kind == Node::Kind::kNull) return "null";
  return node.quoted ? quote(node.text) : node.text;
}

bool is_scalar(const Node& node) {
  return node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kNull;
}

/// On one line, in brackets.
std::string flow(const Node& node) {
  if (is_scalar(node)) return scalar(node);
  const bool list = node.kind == Node::Kind::kList;
  std::string out = list ? "[" : "{";
  const auto separate = [&] {
    if (out.size() > 1) out += ", ";
  };
  for (const Node& item : node.items) {
    separate();
    out += flow(item);
  }
  for (const Node::Entry& entry : node.entries) {
    separate();
    out += entry.key + ": " + flow(entry.value);
  }
  return out + (list ? "]" : "}");
}

struct Line {
  std::string text;
  std::string path;  ///< Of the value that it ends in, if it does.
};

void block(const Node& map, const std::string& margin, const std::string& path,
           std::vector<Line>& out) {
  for (const auto& [key, where, value] : map.entries) {
    const std::string below = path.empty() ? key : fmt::format("{}.{}", path, key);
    const std::string head = fmt::format("{}{}:", margin, key);
    if (value.kind == Node::Kind::kMap && !value.entries.empty()) {
      out.push_back({head, {}});
      block(value, margin + "  ", below, out);
    } else if (value.kind == Node::Kind::kList && !std::ranges::all_of(value.items, is_scalar)) {
      out.push_back({head, {}});
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        out.push_back(
            {margin + "  - " + flow(value.items[i]), below + "[" + std::to_string(i) + "]"});
      }
    } else {
      out.push_back({head + " " + flow(value), below});
    }
  }
}

/// The column at which comments stand; a few long lines, such as lists, do not push them away.
std::size_t comment_column(const std::vector<Line>& lines) {
  constexpr std::size_t kFarthest = 48;
  std::size_t column = 0;
  for (const Line& line : lines) {
    if (line.text.size() <= kFarthest) column = std::max(column, line.text.size());
  }
  return column + 2;
}

}  // namespace

std::string dump(const Node& root, const Comment& comment) {
  std::vector<Line> lines;
  if (root.kind == Node::Kind::kMap && !root.entries.empty()) {
    block(root, "", "", lines);
  } else {
    lines.push_back({flow(root), {}});
  }
  const std::size_t column = comment ? comment_column(lines) : 0;
  std::string out;
  for (const Line& line : lines) {
    out += line.text;
    if (comment && !line.path.empty()) {
      const std::size_t gap = line.text.size() + 2 > column ? 2 : column - line.text.size();
      out += std::string(gap, ' ') + "# " + comment(line.path);
    }
    out += '\n';
  }
  return out;
}

}  // namespace syncopate::experiments::yaml
