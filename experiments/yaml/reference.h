// A page of documentation of a described type.
#pragma once

#include <string>
#include <string_view>

#include "experiments/yaml/shape.h"

namespace syncopate::experiments::yaml {

/// Markdown: a section with a table for each map, under its path, and one for the names of each
/// choice. `title` heads the outermost map.
std::string reference(const Shape& root, std::string_view title);

}  // namespace syncopate::experiments::yaml
