// What a sweep's file stands for: its points, each a configuration that can run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/config/load.h"
#include "experiments/config/sweep_file.h"
#include "experiments/yaml/node.h"

namespace syncopate::experiments {

struct SweepPoint {
  /// One a key of the plan: what the point sets, or else what its configuration has; null for what
  /// it has not.
  std::vector<yaml::Node> values;
  std::uint32_t repeat = 0;
  ResolvedConfig config;
  /// What is varied, then a hash of the configuration, its profiles and the repeat: a sweep to
  /// which values or repeats are added gives its old points their old names. Can name a folder.
  std::string name;
};

/// A combination of values that a constraint refused.
struct DroppedPoint {
  std::vector<yaml::Node> values;
  std::string because;
};

struct SweepPlan {
  SweepFile sweep;
  std::filesystem::path base;
  std::vector<std::string> keys;   ///< What the axes set, in the order of the file.
  std::vector<SweepPoint> points;  ///< The last axis varies fastest, repeats faster.
  std::vector<DroppedPoint> dropped;
};

/// All points, read and checked. `overrides` are the command line's, over the base and the sweep's
/// `set`; a key that an axis sets cannot be overridden. A sweep keeps no log and writes no tables,
/// unless the base, the sweep or the command line says so. Throws ConfigError.
SweepPlan plan_sweep(const std::filesystem::path& file, const Overrides& overrides = {});

/// "limits.rows=8 strategy.kind=async": the keys with a value.
std::string describe_point(const std::vector<std::string>& keys,
                           const std::vector<yaml::Node>& values);

}  // namespace syncopate::experiments
