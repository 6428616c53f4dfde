// Writer: turns described structs into a tree that the Reader reads back to the same values, with
// every default written out.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <type_traits>
#include <variant>

#include "experiments/yaml/describe.h"
#include "experiments/yaml/node.h"

namespace syncopate::experiments::yaml {

template <class T>
Node write(const T& value);

/// The visitor that describe() gets: adds the keys of one map.
struct Writer {
  Node& map;
  template <class T>
  void operator()(const Key& key, T& member) {
    map.add(std::string(key.name), write(member));
  }
};

template <class T>
Node write(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return Node::scalar(value ? "true" : "false");
  } else if constexpr (std::integral<T> || std::same_as<T, double>) {
    return Node::scalar(fmt::format("{}", value));  // shortest text that reads back the same
  } else if constexpr (std::same_as<T, std::string>) {
    return Node::scalar(value, true);
  } else if constexpr (std::is_enum_v<T>) {
    return Node::scalar(std::string(name_of(value)));
  } else if constexpr (kIsOptional<T>) {
    return value ? write(*value) : Node();
  } else if constexpr (kIsVector<T> || FixedList<T>) {
    Node list = Node::list();
    for (const auto& item : value) list.items.push_back(write(item));
    return list;
  } else if constexpr (std::same_as<T, Node>) {
    return value;
  } else if constexpr (kIsFreeMap<T>) {
    Node map = Node::map();
    for (const auto& entry : value.entries) map.add(entry.key, write(entry.value));
    return map;
  } else if constexpr (kIsMapOrList<T>) {
    return std::visit([](const auto& alternative) { return write(alternative); }, value);
  } else if constexpr (kIsTagged<T>) {
    return std::visit(
        [](const auto& alternative) {
          Node map = write(alternative);
          using Alternative = std::remove_cvref_t<decltype(alternative)>;
          map.entries.insert(
              map.entries.begin(),
              {std::string(kTagOf<T>), {}, Node::scalar(std::string(Alternative::kKind))});
          return map;
        },
        value);
  } else {
    Node map = Node::map();
    Writer writer{map};
    T copy = value;  // describe() binds members as mutable, for the Reader's sake
    describe(writer, copy);
    return map;
  }
}

}  // namespace syncopate::experiments::yaml
