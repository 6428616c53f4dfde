// Descriptions: what a struct looks like in YAML, said once.
//
//   struct Strategy { Kind kind = Kind::kAsync; std::uint32_t slots = 2; };
//
//   template <class V>
//   void describe(V& v, Strategy& c) {
//     v(required("kind", "How steps are ordered"), c.kind);
//     v(key("slots", "Steps in flight").range(1, 64), c.slots);
//   }
//
// A visitor V sees each key with its member: Reader fills the members from a Node, Writer makes a
// Node of them, and a schema, a page of documentation or a completion list are further visitors of
// the same text. A key that is not required keeps the value that the struct is made with.
//
// What a member may be:
//   bool, integers, double, std::string
//   an enum with a ChoicesOf specialization       one of its names
//   std::optional<T>                              T, or null
//   std::vector<T>                                a list
//   std::array<T, N> without a describe()         a list of N items
//   FreeMap<T>                                    a map whose keys are the file's own
//   Node                                          anything
//   a struct with describe()                      a map; with `using Shorthand = S` and a
//                                                 constructor from S, also a lone S
//   std::variant<A, B, …> of structs with kKind   a map whose key `kind` says which (see kTagOf)
//   std::variant<A, std::vector<B>>               a map or a list
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "experiments/yaml/where.h"

namespace syncopate::experiments::yaml {

/// A key, and which values are right. Bounds are inclusive; of a list they bind its items.
struct Key {
  std::string_view name;
  std::string_view doc;
  bool is_required = false;
  std::optional<double> min = std::nullopt;
  std::optional<double> max = std::nullopt;

  constexpr Key range(double low, double high) const { return {name, doc, is_required, low, high}; }
  constexpr Key at_least(double low) const { return {name, doc, is_required, low, std::nullopt}; }
};

constexpr Key key(std::string_view name, std::string_view doc) { return {name, doc}; }
constexpr Key required(std::string_view name, std::string_view doc) { return {name, doc, true}; }

/// One name of an enum.
template <class E>
struct Choice {
  E value;
  std::string_view name;
  std::string_view doc;
};
template <class E>  // clang before 17 deduces none for aggregates
Choice(E, std::string_view, std::string_view) -> Choice<E>;

/// The names of an enum: `template <> struct ChoicesOf<E> { static constexpr std::array
/// value{Choice{E::kA, "a", "…"}, …}; };`
template <class E>
struct ChoicesOf;

template <class E>
constexpr std::string_view name_of(E value) {
  for (const auto& choice : ChoicesOf<E>::value) {
    if (choice.value == value) return choice.name;
  }
  return "?";
}

/// A visitor that only looks at names. Any struct that it can visit has a description.
struct IgnoreKeys {
  template <class T>
  void operator()(const Key&, T&) {}
};

template <class T>
concept Described = requires(IgnoreKeys& v, T& t) { describe(v, t); };

template <class T>
concept HasShorthand = requires { typename T::Shorthand; };

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;
/// An array may also be a map with a name for each item, if it has a describe().
template <class T>
concept FixedList = kIsArray<T> && !Described<T>;

/// Keys that no description knows, each with its place, in the order of the file.
template <class T>
struct FreeMap {
  struct Entry {
    std::string key;
    Where where;  ///< Of the key.
    T value;
  };
  std::vector<Entry> entries;
};

template <class T>
inline constexpr bool kIsFreeMap = false;
template <class T>
inline constexpr bool kIsFreeMap<FreeMap<T>> = true;

/// A variant that is told apart by a key, kTagOf.
template <class T>
inline constexpr bool kIsTagged = false;
template <class... T>
inline constexpr bool kIsTagged<std::variant<T...>> =
    requires { requires(std::same_as<decltype(T::kKind), const std::string_view> && ...); };

/// That key. Specialize it for a variant that has another.
template <class T>
inline constexpr std::string_view kTagOf = "kind";

/// A variant that is told apart by being a map or a list.
template <class T>
inline constexpr bool kIsMapOrList = false;
template <class A, class B>
inline constexpr bool kIsMapOrList<std::variant<A, std::vector<B>>> = true;

}  // namespace syncopate::experiments::yaml
