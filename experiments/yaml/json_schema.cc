#include "experiments/yaml/json_schema.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

namespace syncopate::experiments::yaml {
namespace {

using Json = nlohmann::ordered_json;

Json literal(const Node& node) {
  if (node.kind == Node::Kind::kNull) return nullptr;
  if (node.kind == Node::Kind::kList) {
    Json list = Json::array();
    for (const Node& item : node.items) list.push_back(literal(item));
    return list;
  }
  if (node.kind != Node::Kind::kScalar) return Json::object();
  if (node.quoted) return node.text;
  Json number = Json::parse(node.text, nullptr, false);
  return number.is_discarded() ? Json(node.text) : number;
}

Json schema(const Shape& shape);

Json choice(const Shape& shape) {
  Json options = Json::array();
  for (const auto& [name, doc] : shape.choices) {
    options.push_back({{"const", name}, {"description", doc}});
  }
  return {{"oneOf", std::move(options)}};
}

Json number(const Shape& shape, const char* type) {
  Json out{{"type", type}};
  if (shape.min) out["minimum"] = Json::parse(*shape.min);
  if (shape.max) out["maximum"] = Json::parse(*shape.max);
  return out;
}

Json map(const Shape& shape) {
  Json out{{"type", "object"}};
  Json properties = Json::object();
  Json needed = Json::array();
  if (!shape.tag.name.empty()) {
    out["description"] = shape.tag.doc;
    properties[shape.tag_key] = {{"const", shape.tag.name}, {"description", shape.tag.doc}};
    needed.push_back(shape.tag_key);
  }
  for (const Shape::Field& field : shape.fields) {
    Json of_field{{"description", field.doc}};
    of_field.update(schema(field.shape));
    // A map's own keys have their defaults each.
    const bool whole = field.otherwise.kind != Node::Kind::kMap;
    if (!field.is_required && whole) of_field["default"] = literal(field.otherwise);
    properties[field.name] = std::move(of_field);
    if (field.is_required) needed.push_back(field.name);
  }
  out["properties"] = std::move(properties);
  if (!needed.empty()) out["required"] = std::move(needed);
  out["additionalProperties"] = false;
  return out;
}

Json options(const Shape& shape) {
  Json out = Json::array();
  for (const Shape& option : shape.options) out.push_back(schema(option));
  return {{"oneOf", std::move(out)}};
}

Json schema_of_list(const Shape& shape) {
  Json out{{"type", "array"}, {"items", schema(shape.options.at(0))}};
  if (shape.length) out["minItems"] = out["maxItems"] = *shape.length;
  return out;
}

Json schema_of_value(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::kBool:
      return {{"enum", {true, false, "on", "off"}}};
    case Shape::Kind::kInteger:
      return number(shape, "integer");
    case Shape::Kind::kNumber:
      return number(shape, "number");
    case Shape::Kind::kText:
      return {{"type", "string"}};
    case Shape::Kind::kChoice:
      return choice(shape);
    case Shape::Kind::kAny:
      return Json::object();
    case Shape::Kind::kFreeMap:
      return {{"type", "object"}, {"additionalProperties", schema(shape.options.at(0))}};
    case Shape::Kind::kList:
      return schema_of_list(shape);
    case Shape::Kind::kMap:
      return map(shape);
    case Shape::Kind::kTagged:
    case Shape::Kind::kEither:
      return options(shape);
  }
  return {};
}

Json schema(const Shape& shape) {
  Json value = schema_of_value(shape);
  if (!shape.nullable) return value;
  return {{"anyOf", {std::move(value), {{"type", "null"}}}}};
}

}  // namespace

std::string json_schema(const Shape& root, std::string_view title) {
  Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  out.update(schema(root));
  return out.dump(2) + '\n';
}

}  // namespace syncopate::experiments::yaml
