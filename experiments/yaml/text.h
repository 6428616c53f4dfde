// What is looked at in a file's text itself, before the parser and when it has failed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/yaml/where.h"

namespace syncopate::experiments::yaml {

/// The place of a byte of `text`.
Where place_in(std::string_view text, std::size_t at, std::shared_ptr<const std::string> source);

/// Takes off the byte order mark and makes line ends LF. Throws ConfigError on what is no UTF-8
/// text, on a lone carriage return, and on a tab as indentation, which YAML forbids.
void normalise(std::string& text, const std::shared_ptr<const std::string>& source);

/// Whether the text in quotes that begins at `quote` ends on the same line.
bool closes_on_its_line(std::string_view text, std::size_t quote);

/// The first quote that begins a value or key and is not closed on its line; where a parser has
/// failed, the likely cause. Where it has not, an apostrophe of plain text may look like one.
std::optional<std::size_t> find_open_quote(std::string_view text);

}  // namespace syncopate::experiments::yaml
