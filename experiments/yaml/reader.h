// Reader: fills described structs from a document, strictly. Each error names the place, the value,
// what is allowed there, and the nearest valid word.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/yaml/describe.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments::yaml {

/// A value under reading: its node, its path from the root ("" for the root itself) and its key.
struct Cursor {
  const Node& node;
  std::string path;
  const Key& key;

  Cursor item(std::size_t index) const;
  std::string path_of(std::string_view key_below) const;
};

// What the templates below share. All throw ConfigError.
bool read_bool(const Cursor& at);
std::int64_t read_signed(const Cursor& at, std::int64_t min, std::int64_t max);
std::uint64_t read_unsigned(const Cursor& at, std::uint64_t max);
double read_double(const Cursor& at);
std::string read_string(const Cursor& at);
std::size_t read_choice(const Cursor& at, const std::vector<std::string_view>& names);
void expect_map(const Cursor& at);
void expect_list(const Cursor& at);
void expect_map_or_list(const Cursor& at);
void expect_list_of(const Cursor& at, std::size_t count);
void refuse_unknown_keys(const Cursor& map, const std::vector<std::string_view>& allowed);
[[noreturn]] void throw_missing(const Cursor& map, const Key& key,
                                const std::vector<std::string_view>& allowed);

/// Lists the keys of a description.
struct KeyNames {
  std::vector<std::string_view> names;
  template <class T>
  void operator()(const Key& key, T&) {
    names.push_back(key.name);
  }
};

class Reader {
 public:
  /// `origins` gets the place of every value that is read.
  explicit Reader(Origins& origins) : origins_(origins) {}

  template <class T>
  void read(const Cursor& at, T& out) {
    origins_.set(at.path, at.node.where);
    if constexpr (std::same_as<T, bool>) {
      out = read_bool(at);
    } else if constexpr (std::signed_integral<T>) {
      out = static_cast<T>(
          read_signed(at, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else if constexpr (std::unsigned_integral<T>) {
      out = static_cast<T>(read_unsigned(at, std::numeric_limits<T>::max()));
    } else if constexpr (std::same_as<T, double>) {
      out = read_double(at);
    } else if constexpr (std::same_as<T, std::string>) {
      out = read_string(at);
    } else if constexpr (std::is_enum_v<T>) {
      read_enum(at, out);
    } else if constexpr (kIsOptional<T>) {
      if (at.node.kind == Node::Kind::kNull) {
        out.reset();
      } else {
        read(at, out.emplace());
      }
    } else if constexpr (kIsVector<T>) {
      expect_list(at);
      out.clear();
      for (std::size_t i = 0; i < at.node.items.size(); ++i) read(at.item(i), out.emplace_back());
    } else if constexpr (FixedList<T>) {
      expect_list_of(at, out.size());
      for (std::size_t i = 0; i < out.size(); ++i) read(at.item(i), out[i]);
    } else if constexpr (std::same_as<T, Node>) {
      out = at.node;
    } else if constexpr (kIsFreeMap<T>) {
      expect_map(at);
      out.entries.clear();
      for (const Node::Entry& entry : at.node.entries) {
        auto& made = out.entries.emplace_back();
        made.key = entry.key;
        made.where = entry.where;
        read(Cursor{entry.value, at.path_of(entry.key), at.key}, made.value);
      }
    } else if constexpr (kIsMapOrList<T>) {
      expect_map_or_list(at);
      if (at.node.kind == Node::Kind::kList) {
        read(at, out.template emplace<1>());
      } else {
        read(at, out.template emplace<0>());
      }
    } else if constexpr (kIsTagged<T>) {
      read_tagged(at, out);
    } else {
      static_assert(Described<T>, "a member needs a describe() or one of the types in describe.h");
      if constexpr (HasShorthand<T>) {
        if (at.node.kind == Node::Kind::kScalar) {
          typename T::Shorthand lone{};
          read(at, lone);
          out = T(lone);
          SetOrigins set{origins_, at};
          describe(set, out);
          return;
        }
      }
      read_struct(at, out, {});
    }
  }

 private:
  /// The visitor that describe() gets: reads the keys of one map.
  struct Fields {
    Reader& reader;
    const Cursor& map;
    const std::vector<std::string_view>& allowed;

    template <class T>
    void operator()(const Key& key, T& member) {
      const Node* node = map.node.find(key.name);
      if (node != nullptr) {
        reader.read(Cursor{*node, map.path_of(key.name), key}, member);
      } else if (key.is_required) {
        throw_missing(map, key, allowed);
      }
    }
  };

  /// Keys that a shorthand stands for come from where it stands.
  struct SetOrigins {
    Origins& origins;
    const Cursor& at;
    template <class T>
    void operator()(const Key& key, T&) {
      origins.set(at.path + '.' + std::string(key.name), at.node.where);
    }
  };

  template <class T>
  void read_struct(const Cursor& at, T& out, std::vector<std::string_view> allowed) {
    expect_map(at);
    KeyNames names{std::move(allowed)};
    describe(names, out);
    refuse_unknown_keys(at, names.names);
    Fields fields{*this, at, names.names};
    describe(fields, out);
  }

  template <class E>
  void read_enum(const Cursor& at, E& out) {
    const auto& choices = ChoicesOf<E>::value;
    std::vector<std::string_view> names;
    for (const auto& choice : choices) names.push_back(choice.name);
    out = choices[read_choice(at, names)].value;
  }

  template <class... T>
  void read_tagged(const Cursor& at, std::variant<T...>& out) {
    expect_map(at);
    static constexpr Key kTag = required(kTagOf<std::variant<T...>>, "");
    std::string kind;
    std::vector<std::string_view> keys{kTag.name};
    Fields{*this, at, keys}(kTag, kind);
    const Node& node = *at.node.find(kTag.name);
    const std::size_t index = read_choice(Cursor{node, at.path_of(kTag.name), kTag}, {T::kKind...});
    std::size_t alternative = 0;
    ((alternative++ == index ? read_struct(at, out.template emplace<T>(), keys) : void()), ...);
  }

  Origins& origins_;
};

/// Reads a whole document. Throws ConfigError.
template <class T>
T read(const Node& root, Origins& origins) {
  static constexpr Key kWhole{"", "the file"};
  T out{};
  Reader(origins).read(Cursor{root, "", kWhole}, out);
  return out;
}

}  // namespace syncopate::experiments::yaml
