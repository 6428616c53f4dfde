// From a file to a configuration that can run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/config.h"
#include "experiments/config/profile_file.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments {

/// A configuration with all choices made: defaults filled in, rules checked, profile read.
struct ResolvedConfig {
  std::filesystem::path file;
  Config config;
  std::optional<ProfileFile> profile;         ///< With runtime.kind sim …
  std::filesystem::path profile_file;         ///< … and where it was found.
  std::optional<ProfileFile> search_profile;  ///< With a variant that is auto.
  yaml::Origins origins;
};

/// What the command line changes.
struct Overrides {
  std::vector<std::string> sets;       ///< "a.b=value", in order; see yaml::assign.
  std::optional<std::string> runtime;  ///< Replaces runtime.kind. What only sim has (profile,
                                       ///< effects, chaos) is left out where it is another.
  bool trace = false;                  ///< Sets output.trace, and output.log which it needs.
};

/// Throws ConfigError.
ResolvedConfig load_config(const std::filesystem::path& file, const Overrides& overrides = {});

/// YAML of the configuration with every default written out. load_config() reads it back.
std::string to_yaml(const Config& config);
std::string to_yaml(const ProfileFile& profile);

/// The same with a comment at each value: the place that it comes from, or "default".
std::string to_yaml_with_origins(const ResolvedConfig& config);

}  // namespace syncopate::experiments
