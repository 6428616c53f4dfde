// The nearest valid word to one that was mistyped.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace syncopate::experiments::yaml {

/// The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (Damerau-Levenshtein, optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word of least distance, if it is near enough to be a slip: at most a third of the longer
/// word's length, and at least one edit is always forgiven. The first of equals.
std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& words);

}  // namespace syncopate::experiments::yaml
