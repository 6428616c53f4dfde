#include <algorithm>
#include <string>

#include "experiments/yaml/node.h"

namespace syncopate::experiments::yaml {
namespace {

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
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

void block(const Node& map, int indent, std::string& out) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (const auto& [key, where, value] : map.entries) {
    out += margin + key + ":";
    if (value.kind == Node::Kind::kMap && !value.entries.empty()) {
      out += '\n';
      block(value, indent + 2, out);
    } else if (value.kind == Node::Kind::kList && !std::ranges::all_of(value.items, is_scalar)) {
      out += '\n';
      for (const Node& item : value.items) out += margin + "  - " + flow(item) + '\n';
    } else {
      out += ' ' + flow(value) + '\n';
    }
  }
}

}  // namespace

std::string dump(const Node& root) {
  std::string out;
  if (root.kind == Node::Kind::kMap && !root.entries.empty()) {
    block(root, 0, out);
  } else {
    out = flow(root) + '\n';
  }
  return out;
}

}  // namespace syncopate::experiments::yaml
