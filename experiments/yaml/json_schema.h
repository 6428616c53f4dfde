// JSON Schema of a described type, for editors and checkers.
#pragma once

#include <string>
#include <string_view>

#include "experiments/yaml/shape.h"

namespace syncopate::experiments::yaml {

/// A schema (draft 2020-12) that holds for what the Reader takes: types, bounds, names, required
/// keys, no others. Rules that bind several keys are the program's alone.
///
/// Two forms differ between readers of YAML and are allowed for: `on` and `off` are text to most.
std::string json_schema(const Shape& root, std::string_view title);

}  // namespace syncopate::experiments::yaml
