// Lengths of prompts or answers that somebody counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace syncopate::experiments {

/// A file's numbers of tokens, one a line; empty lines count for nothing. Throws yaml::ConfigError
/// at the file and line of what is none, and where there is none at all.
std::vector<std::uint32_t> read_lengths(const std::filesystem::path& file);

}  // namespace syncopate::experiments
