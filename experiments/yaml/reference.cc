#include "experiments/yaml/reference.h"

#include <fmt/format.h>

#include <utility>

namespace syncopate::experiments::yaml {
namespace {

std::string range(const Shape& shape) {
  if (shape.min && shape.max) return fmt::format(", {} to {}", *shape.min, *shape.max);
  return shape.min ? fmt::format(", at least {}", *shape.min) : "";
}

std::string type(const Shape& shape);

std::string either(const Shape& shape) {
  std::string out;
  for (const Shape& option : shape.options) {
    if (!out.empty()) out += "; or ";
    out += type(option);
  }
  return out;
}

std::string type_of_list(const Shape& shape) {
  const Shape& item = shape.options.at(0);
  const std::string name = shape.length ? fmt::format("list of {}", *shape.length) : "list";
  const bool plain =
      item.is_scalar() || item.kind == Shape::Kind::kList || item.kind == Shape::Kind::kFreeMap;
  return plain ? fmt::format("{}, each: {}", name, type(item)) : name + " of maps";
}

std::string type_of_value(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::kBool:
      return "boolean";
    case Shape::Kind::kInteger:
      return "integer" + range(shape);
    case Shape::Kind::kNumber:
      return "number" + range(shape);
    case Shape::Kind::kText:
      return "text";
    case Shape::Kind::kChoice:
      return "a name";
    case Shape::Kind::kAny:
      return "any value";
    case Shape::Kind::kFreeMap:
      return "map from keys of the configuration; to each: " + type(shape.options.at(0));
    case Shape::Kind::kList:
      return type_of_list(shape);
    case Shape::Kind::kMap:
    case Shape::Kind::kTagged:
      return "map";
    case Shape::Kind::kEither:
      return either(shape);
  }
  return "";
}

std::string type(const Shape& shape) {
  return type_of_value(shape) + (shape.nullable ? ", or null" : "");
}

std::string otherwise(const Shape::Field& field) {
  if (field.is_required) return "required";
  // A map's own keys have their defaults each.
  if (field.otherwise.kind == Node::Kind::kMap) return "";
  std::string text = dump(field.otherwise);
  text.pop_back();
  return fmt::format("`{}`", text);
}

class Page {
 public:
  void add(const Shape& shape, const std::string& path, const std::string& title) {
    switch (shape.kind) {
      case Shape::Kind::kMap:
        return add_map(shape, path, title);
      case Shape::Kind::kChoice:
        return add_choices(shape, title);
      case Shape::Kind::kTagged:
        for (const Shape& option : shape.options) {
          add_map(option, path,
                  fmt::format("{} with `{}: {}`", title, option.tag_key, option.tag.name));
        }
        return;
      case Shape::Kind::kEither:
        for (const Shape& option : shape.options) add(option, path, title);
        return;
      case Shape::Kind::kFreeMap:
        return add(shape.options.at(0), path + ".KEY", fmt::format("`{}.KEY`", path));
      case Shape::Kind::kList:
        return add(shape.options.at(0), path + "[]", fmt::format("`{}[]`", path));
      default:
        return;  // a row says all of it
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void add_map(const Shape& map, const std::string& path, const std::string& title) {
    out_ += fmt::format("## {}\n\n", title);
    if (!map.tag.doc.empty()) out_ += fmt::format("`{}`: {}.\n\n", map.tag.name, map.tag.doc);
    out_ += "| key | type | default | meaning |\n| --- | --- | --- | --- |\n";
    if (!map.tag.name.empty()) {
      out_ += fmt::format("| `{}` | `{}` | required | which of these tables holds |\n", map.tag_key,
                          map.tag.name);
    }
    for (const Shape::Field& field : map.fields) {
      out_ += fmt::format("| `{}` | {} | {} | {} |\n", field.name, type(field.shape),
                          otherwise(field), field.doc);
    }
    out_ += '\n';
    for (const Shape::Field& field : map.fields) {
      const std::string below = path.empty() ? field.name : path + "." + field.name;
      add(field.shape, below, fmt::format("`{}`", below));
    }
  }

  void add_choices(const Shape& shape, const std::string& title) {
    out_ += fmt::format("{}:\n\n| name | meaning |\n| --- | --- |\n", title);
    for (const auto& [name, doc] : shape.choices) {
      out_ += fmt::format("| `{}` | {} |\n", name, doc);
    }
    out_ += '\n';
  }

  std::string out_;
};

}  // namespace

std::string reference(const Shape& root, std::string_view title) {
  Page page;
  page.add(root, "", std::string(title));
  std::string out = page.take();
  out.pop_back();
  return out;
}

}  // namespace syncopate::experiments::yaml
