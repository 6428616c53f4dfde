// A YAML document as a tree in which every key and value knows its place.
//
// A strict subset: one document; maps, lists and scalars. Anchors, aliases, merge keys, tags,
// duplicate keys, keys that are not text, tabs as indentation, and quotes that are not closed on
// their line are errors. yaml-cpp reads the syntax; its own
// tree is not used, since it keeps the last of two equal keys without a word and forgets where
// keys stand.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/yaml/where.h"

namespace syncopate::experiments::yaml {

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  bool quoted = false;         ///< kScalar: written in quotes, so text whatever it looks like.
  std::string text;            ///< kScalar.
  std::vector<Entry> entries;  ///< kMap, in the order of the file.
  std::vector<Node> items;     ///< kList.
  Where where;

  /// The value under `key` of a map, or null.
  Node* find(std::string_view key);
  const Node* find(std::string_view key) const;
  void erase(std::string_view key);

  static Node scalar(std::string text, bool quoted = false);
  static Node map();
  static Node list();
  Node& add(std::string key, Node value);
};

struct Node::Entry {
  std::string key;
  Where where;
  Node value;
};

/// Larger files are refused before they are read.
inline constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

/// Throws ConfigError on what cannot be read and on any error of syntax. UTF-8 with or without a
/// byte order mark, lines ending in LF or CRLF.
Node load(const std::filesystem::path& file);
Node parse(std::string text, std::string source);

/// Whether `text` can be a path, as "a.b".
bool is_path(std::string_view text);

/// Sets the value at a path as if it stood in the file. Missing maps on the way are made, and get
/// `where` as their place; a number names a list's item, "*" all of them. Throws ConfigError.
void set_at(Node& root, std::string_view path, const Node& value, const Where& where);

/// Sets one value from "a.b=value", as set_at() does. `option` is what the user typed before the
/// assignment ("--set"), and becomes the value's place together with the path.
void assign(Node& root, std::string_view assignment, std::string_view option = "--set");

/// What to say about the value at a path ("strategy.slots", "requests[3]") in a comment.
using Comment = std::function<std::string(std::string_view path)>;

/// YAML text that parse() reads back to the same tree. Small lists and the maps in them stand on
/// one line. With `comment`, each line that ends in a value has its comment behind it, aligned.
std::string dump(const Node& root, const Comment& comment = {});

}  // namespace syncopate::experiments::yaml
