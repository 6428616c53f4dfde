#include "experiments/yaml/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "experiments/yaml/error.h"

namespace syncopate::experiments::yaml {

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

const Node* Node::find(std::string_view key) const {
  const auto at = std::ranges::find(entries, key, &Entry::key);
  return at == entries.end() ? nullptr : &at->value;
}

void Node::erase(std::string_view key) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
}

Node Node::scalar(std::string text, bool quoted) {
  Node node;
  node.kind = Kind::kScalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

Node Node::map() {
  Node node;
  node.kind = Kind::kMap;
  return node;
}

Node Node::list() {
  Node node;
  node.kind = Kind::kList;
  return node;
}

Node& Node::add(std::string key, Node value) {
  Where place = value.where;
  entries.push_back({std::move(key), std::move(place), std::move(value)});
  return entries.back().value;
}

namespace {

void set_places(Node& node, const Where& where) {
  node.where = where;
  for (Node::Entry& entry : node.entries) {
    entry.where = where;
    set_places(entry.value, where);
  }
  for (Node& item : node.items) set_places(item, where);
}

Node& step_into(Node& node, std::string_view part, const Where& where, std::string_view so_far) {
  if (node.kind == Node::Kind::kList) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error != std::errc() || end != part.data() + part.size() || index >= node.items.size()) {
      throw ConfigError(
          where, fmt::format("'{}' is no item of {}, a list of {}: items are 0 to {}", part, so_far,
                             node.items.size(), node.items.empty() ? 0 : node.items.size() - 1));
    }
    return node.items[index];
  }
  // A scalar on the way gives way to the map; whether a map is right there, the reader decides.
  if (node.kind != Node::Kind::kMap) {
    node = Node::map();
    node.where = where;
  }
  if (Node* found = node.find(part)) return *found;
  Node empty;
  empty.where = where;
  return node.add(std::string(part), std::move(empty));
}

}  // namespace

namespace {

void set_below(Node& node, std::string_view path, std::size_t begin, const Node& value,
               const Where& where) {
  if (begin > path.size()) {
    node = value;
    return;
  }
  const auto end = std::min(path.find('.', begin), path.size());
  const std::string_view part = path.substr(begin, end - begin);
  const std::string_view so_far = begin == 0 ? "the file" : path.substr(0, begin - 1);
  if (part != "*") {
    return set_below(step_into(node, part, where, so_far), path, end + 1, value, where);
  }
  if (node.kind != Node::Kind::kList) {
    throw ConfigError(
        where, fmt::format("'*' is every item of a list, and {} is none in the file", so_far));
  }
  for (Node& item : node.items) set_below(item, path, end + 1, value, where);
}

}  // namespace

bool is_path(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         text.find("..") == std::string_view::npos;
}

void set_at(Node& root, std::string_view path, const Node& value, const Where& where) {
  set_below(root, path, 0, value, where);
}

void assign(Node& root, std::string_view assignment, std::string_view option) {
  const auto make_where = [](std::string source) {
    return Where{std::make_shared<const std::string>(std::move(source)), 0, 0};
  };
  const auto equals = assignment.find('=');
  const std::string_view path = assignment.substr(0, equals);
  if (equals == std::string_view::npos || !is_path(path)) {
    throw ConfigError(make_where(fmt::format("{} {}", option, assignment)),
                      "expected PATH=VALUE, as in strategy.slots=2");
  }
  const Where where = make_where(fmt::format("{} {}", option, path));
  Node value = parse(std::string(assignment.substr(equals + 1)), *where.source);
  set_places(value, where);
  set_at(root, path, value, where);
}

}  // namespace syncopate::experiments::yaml
