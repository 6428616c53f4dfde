#include "experiments/yaml/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "experiments/yaml/error.h"
#include "experiments/yaml/nearest.h"

namespace syncopate::experiments::yaml {
namespace {

std::string name(const Cursor& at) { return at.path.empty() ? "the file" : at.path; }

/// What stands there, for "got …".
std::string found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
    case Node::Kind::kScalar:
      break;
  }
  const std::string text = clipped(node.text);
  return node.quoted ? fmt::format("the text \"{}\"", text) : fmt::format("'{}'", text);
}

std::string bounds(const Key& key) {
  if (key.min && key.max) return fmt::format(" from {} to {}", *key.min, *key.max);
  if (key.min) return fmt::format(" of at least {}", *key.min);
  return "";
}

[[noreturn]] void throw_type(const Cursor& at, std::string_view expected) {
  throw ConfigError(at.node.where,
                    fmt::format("{}: expected {}, got {}", name(at), expected, found(at.node)));
}

[[noreturn]] void throw_range(const Cursor& at, std::string_view allowed) {
  throw ConfigError(at.node.where, fmt::format("{}: {} is out of range: expected {}", name(at),
                                               clipped(at.node.text), allowed));
}

void check_bounds(const Cursor& at, double value, std::string_view allowed) {
  if ((at.key.min && value < *at.key.min) || (at.key.max && value > *at.key.max)) {
    throw_range(at, allowed);
  }
}

/// "8 ms", "0x10", "1_000", "010": numbers to a person or to some readers of YAML.
void refuse_other_notations(const Cursor& at, std::string_view allowed) {
  const std::string_view text = at.node.text;
  const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+'));
  const auto is_digit = [&](std::size_t i) {
    return i < digits.size() && digits[i] >= '0' && digits[i] <= '9';
  };
  if (!is_digit(0)) return;
  const bool octal = digits[0] == '0' && is_digit(1);
  const bool decimal = digits.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (decimal && !octal && !text.starts_with('+')) return;
  throw ConfigError(at.node.where,
                    fmt::format("{}: expected {}, got '{}': write decimal digits alone, without a "
                                "unit, a base, underscores, leading zeros or a plus sign",
                                name(at), allowed, clipped(text)));
}

template <class T>
T read_number(const Cursor& at, std::string_view what) {
  const std::string allowed = fmt::format("{}{}", what, bounds(at.key));
  if (at.node.kind != Node::Kind::kScalar || at.node.quoted) throw_type(at, allowed);
  refuse_other_notations(at, allowed);
  const std::string& text = at.node.text;
  const char* const end = text.data() + text.size();
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // "-1" for an unsigned number is a number, only out of range.
  if constexpr (std::is_unsigned_v<T>) {
    std::int64_t negative = 0;
    if (error == std::errc::invalid_argument &&
        std::from_chars(text.data(), end, negative).ptr == end) {
      throw_range(at, at.key.min ? allowed : fmt::format("{} of at least 0", what));
    }
  }
  if (stop != end || error == std::errc::invalid_argument) throw_type(at, allowed);
  if (error == std::errc::result_out_of_range) throw_range(at, allowed);
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) throw_type(at, allowed);
  }
  check_bounds(at, static_cast<double>(value), allowed);
  return value;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& words) {
  const auto near = nearest(word, words);
  return near ? fmt::format("; did you mean '{}'?", *near) : ".";
}

}  // namespace

Cursor Cursor::item(std::size_t index) const {
  return {node.items[index], fmt::format("{}[{}]", path, index), key};
}

std::string Cursor::path_of(std::string_view key_below) const {
  return path.empty() ? std::string(key_below) : fmt::format("{}.{}", path, key_below);
}

bool read_bool(const Cursor& at) {
  if (at.node.kind == Node::Kind::kScalar && !at.node.quoted) {
    const std::string& text = at.node.text;
    if (text == "true" || text == "on") return true;
    if (text == "false" || text == "off") return false;
  }
  throw_type(at, "true or false (or on, off)");
}

std::int64_t read_signed(const Cursor& at, std::int64_t min, std::int64_t max) {
  const auto value = read_number<std::int64_t>(at, "an integer");
  if (value < min || value > max) throw_range(at, fmt::format("{} to {}", min, max));
  return value;
}

std::uint64_t read_unsigned(const Cursor& at, std::uint64_t max) {
  const auto value = read_number<std::uint64_t>(at, "an integer");
  if (value > max) throw_range(at, fmt::format("0 to {}", max));
  return value;
}

double read_double(const Cursor& at) { return read_number<double>(at, "a number"); }

std::string read_string(const Cursor& at) {
  if (at.node.kind != Node::Kind::kScalar) throw_type(at, "text");
  return at.node.text;
}

std::size_t read_choice(const Cursor& at, const std::vector<std::string_view>& names) {
  const std::string expected = fmt::format("one of: {}", fmt::join(names, ", "));
  if (at.node.kind != Node::Kind::kScalar) throw_type(at, expected);
  const auto found_name = std::ranges::find(names, at.node.text);
  if (found_name == names.end()) {
    throw ConfigError(
        at.node.where,
        fmt::format("{}: unknown value '{}'{} Allowed: {}", name(at), clipped(at.node.text),
                    suggestion(at.node.text, names), fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found_name - names.begin());
}

void expect_map(const Cursor& at) {
  if (at.node.kind == Node::Kind::kMap) return;
  if (at.path.empty() && at.node.kind == Node::Kind::kNull) {
    throw ConfigError(at.node.where, "is empty: expected a map of keys and values");
  }
  throw_type(at, "a map of keys and values");
}

void expect_list(const Cursor& at) {
  if (at.node.kind != Node::Kind::kList) throw_type(at, "a list");
}

void expect_map_or_list(const Cursor& at) {
  if (at.node.kind != Node::Kind::kMap && at.node.kind != Node::Kind::kList) {
    throw_type(at, "a map or a list");
  }
}

void expect_list_of(const Cursor& at, std::size_t count) {
  const std::string expected = fmt::format("a list of {}", count);
  if (at.node.kind != Node::Kind::kList) throw_type(at, expected);
  if (at.node.items.size() != count) {
    throw ConfigError(at.node.where, fmt::format("{}: expected {}, got one of {}", name(at),
                                                 expected, at.node.items.size()));
  }
}

void refuse_unknown_keys(const Cursor& map, const std::vector<std::string_view>& allowed) {
  for (const Node::Entry& entry : map.node.entries) {
    if (std::ranges::find(allowed, entry.key) != allowed.end()) continue;
    throw ConfigError(
        entry.where,
        fmt::format("unknown key '{}' in {}{} Allowed: {}", clipped(entry.key), name(map),
                    suggestion(entry.key, allowed), fmt::join(allowed, ", ")));
  }
}

void throw_missing(const Cursor& map, const Key& key,
                   const std::vector<std::string_view>& allowed) {
  throw ConfigError(map.node.where,
                    fmt::format("{} lacks the key '{}'{}{}. Keys here: {}", name(map), key.name,
                                key.doc.empty() ? "" : ": ", key.doc, fmt::join(allowed, ", ")));
}

}  // namespace syncopate::experiments::yaml
