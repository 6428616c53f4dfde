// Shape: a description as data: what a type may hold, with meanings and defaults. A schema and a
// page of documentation are made of it.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "experiments/yaml/describe.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/writer.h"

namespace syncopate::experiments::yaml {

struct Shape {
  enum class Kind {
    kBool,
    kInteger,
    kNumber,
    kText,
    kChoice,  ///< One of `choices`.
    kAny,
    kList,     ///< Of options[0].
    kMap,      ///< With `fields`.
    kFreeMap,  ///< With keys of the file's own, to options[0].
    kTagged,   ///< A map whose key `tag_key` says which of `options`, each a map with a `tag`.
    kEither,   ///< One of `options`, told apart by their form: scalar, list or map.
  };
  struct Choice {
    std::string name, doc;
  };
  struct Field;

  Kind kind = Kind::kText;
  bool nullable = false;
  std::optional<std::string> min, max;  ///< Inclusive, as numbers are written.
  std::vector<Choice> choices;
  std::vector<Shape> options;
  std::optional<std::size_t> length;  ///< Of a kList that has one.
  std::vector<Field> fields;
  std::string tag_key;  ///< Of a kTagged and its options.
  Choice tag;           ///< Of a kTagged's option.

  /// Or anything: no type of its own is needed to say what may stand there.
  bool is_scalar() const { return kind <= Kind::kAny; }
};

struct Shape::Field {
  std::string name, doc;
  bool is_required = false;
  Node otherwise;  ///< The value where the key is left out, unless it is required.
  Shape shape;
};

/// The shape of a T that stands under `key`, whose bounds hold for numbers. `value` is a T whose
/// members have the defaults.
template <class T>
Shape shape_of(const Key& key, T& value);

template <class T>
Shape shape_of() {
  static constexpr Key kWhole{"", ""};
  T value{};
  return shape_of(kWhole, value);
}

/// The visitor that describe() gets: adds the fields of one map.
struct ShapeFields {
  Shape& map;
  template <class T>
  void operator()(const Key& key, T& member) {
    map.fields.push_back({std::string(key.name), std::string(key.doc), key.is_required,
                          write(member), shape_of(key, member)});
  }
};

namespace detail {

template <class T>
Shape number_shape(const Key& key) {
  Shape shape;
  shape.kind = std::integral<T> ? Shape::Kind::kInteger : Shape::Kind::kNumber;
  if constexpr (std::integral<T>) {
    shape.min = fmt::format("{}", std::numeric_limits<T>::min());
    shape.max = fmt::format("{}", std::numeric_limits<T>::max());
  }
  if (key.min) shape.min = fmt::format("{}", *key.min);
  if (key.max) shape.max = fmt::format("{}", *key.max);
  return shape;
}

template <class E>
Shape choice_shape() {
  Shape shape;
  shape.kind = Shape::Kind::kChoice;
  for (const auto& choice : ChoicesOf<E>::value) {
    shape.choices.push_back({std::string(choice.name), std::string(choice.doc)});
  }
  return shape;
}

template <class T>
Shape map_shape(T& value) {
  Shape shape;
  shape.kind = Shape::Kind::kMap;
  ShapeFields fields{shape};
  describe(fields, value);
  return shape;
}

template <class A, class B>
Shape map_or_list_shape(const Key& key, const std::variant<A, B>&) {
  A map{};
  B list{};
  Shape shape;
  shape.kind = Shape::Kind::kEither;
  shape.options = {shape_of(key, map), shape_of(key, list)};
  return shape;
}

template <class... T>
Shape tagged_shape(const std::variant<T...>&) {
  Shape shape;
  shape.kind = Shape::Kind::kTagged;
  shape.tag_key = kTagOf<std::variant<T...>>;
  const auto add = [&](auto alternative) {
    Shape& option = shape.options.emplace_back(map_shape(alternative));
    option.tag_key = shape.tag_key;
    option.tag = {std::string(alternative.kKind), std::string(alternative.kDoc)};
  };
  (add(T{}), ...);
  return shape;
}

}  // namespace detail

template <class T>
Shape shape_of(const Key& key, T& value) {
  Shape shape;
  if constexpr (std::same_as<T, bool>) {
    shape.kind = Shape::Kind::kBool;
  } else if constexpr (std::integral<T> || std::same_as<T, double>) {
    shape = detail::number_shape<T>(key);
  } else if constexpr (std::same_as<T, std::string>) {
    shape.kind = Shape::Kind::kText;
  } else if constexpr (std::is_enum_v<T>) {
    shape = detail::choice_shape<T>();
  } else if constexpr (kIsOptional<T>) {
    typename T::value_type made{};
    shape = shape_of(key, made);
    shape.nullable = true;
  } else if constexpr (kIsVector<T>) {
    typename T::value_type made{};
    shape.kind = Shape::Kind::kList;
    shape.options.push_back(shape_of(key, made));
  } else if constexpr (FixedList<T>) {
    typename T::value_type made{};
    shape.kind = Shape::Kind::kList;
    shape.length = std::tuple_size_v<T>;
    shape.options.push_back(shape_of(key, made));
  } else if constexpr (std::same_as<T, Node>) {
    shape.kind = Shape::Kind::kAny;
  } else if constexpr (kIsFreeMap<T>) {
    std::remove_cvref_t<decltype(value.entries.front().value)> made{};
    shape.kind = Shape::Kind::kFreeMap;
    shape.options.push_back(shape_of(key, made));
  } else if constexpr (kIsMapOrList<T>) {
    shape = detail::map_or_list_shape(key, value);
  } else if constexpr (kIsTagged<T>) {
    shape = detail::tagged_shape(value);
  } else {
    static_assert(Described<T>, "a member needs a describe() or one of the types in describe.h");
    shape = detail::map_shape(value);
    if constexpr (HasShorthand<T>) {
      typename T::Shorthand lone{};
      Shape map = std::move(shape);
      shape = Shape{};
      shape.kind = Shape::Kind::kEither;
      shape.options = {shape_of(key, lone), std::move(map)};
    }
  }
  return shape;
}

}  // namespace syncopate::experiments::yaml
