// From a file to a configuration that can run.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/config/config.h"
#include "experiments/config/profile_file.h"
#include "experiments/yaml/node.h"
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

// The steps of load_config(), for those who read a file once and change it many times.

/// Sets runtime.kind. What only sim has is left out where it is another.
void set_runtime(yaml::Node& root, const yaml::Node& kind, const yaml::Where& where);

/// Profiles by the names that a configuration calls them, each read once. Not for several threads.
class Profiles {
 public:
  struct Found {
    std::filesystem::path file;
    ProfileFile profile;
  };
  /// As find_profile() and load_profile(), of a configuration in `config`. Throws ConfigError.
  const Found& find(const std::string& name, const std::filesystem::path& config,
                    const yaml::Where& where);

 private:
  std::map<std::pair<std::filesystem::path, std::string>, Found> found_;
};

/// What stands in `root`, key by key: no rule over several keys is checked and no choice made.
/// Throws ConfigError.
ResolvedConfig read_config(const yaml::Node& root, const std::filesystem::path& file);

/// Checks the rules and makes the choices. Throws ConfigError.
void resolve(ResolvedConfig& config, Profiles& profiles);

/// YAML of the configuration with every default written out. load_config() reads it back.
std::string to_yaml(const Config& config);
std::string to_yaml(const ProfileFile& profile);

/// The same with a comment at each value: the place that it comes from, or "default".
std::string to_yaml_with_origins(const ResolvedConfig& config);

}  // namespace syncopate::experiments
