// The file of a sweep: a base configuration and what is varied in it. Plain data and its
// description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "experiments/yaml/describe.h"
#include "experiments/yaml/node.h"
#include "experiments/yaml/where.h"

namespace syncopate::experiments {

inline constexpr std::size_t kMaxPoints = 1'000'000;  ///< Of a sweep.

/// Numbers from one to another; exactly one of step and factor is written.
struct RangeConfig {
  double from = 0;
  double to = 0;
  std::optional<double> step;
  std::optional<double> factor;
};

template <class V>
void describe(V& v, RangeConfig& c) {
  using yaml::key, yaml::required;
  v(required("from", "The first number"), c.from);
  v(required("to", "None is larger"), c.to);
  v(key("step", "From one number to the next; this or factor"), c.step);
  v(key("factor", "Of each number to the one before; this or step"), c.factor);
}

/// Once a sweep is read, they are written out as a list.
using AxisValues = std::variant<RangeConfig, std::vector<yaml::Node>>;
using AxisKeys = yaml::FreeMap<AxisValues>;

/// Values for one place of a sweep; exactly one of the three is written.
struct AxisConfig {
  AxisKeys grid;
  AxisKeys zip;
  std::vector<yaml::FreeMap<yaml::Node>> list;
};

/// Of a sweep that has been read.
inline const std::vector<yaml::Node>& values_of(const AxisKeys::Entry& entry) {
  return std::get<std::vector<yaml::Node>>(entry.value);
}

template <class V>
void describe(V& v, AxisConfig& c) {
  using yaml::key;
  v(key("grid", "Every combination of these values; a later key varies faster"), c.grid);
  v(key("zip", "The first value of each key, then the second of each, and so on"), c.zip);
  v(key("list", "Points one by one, each with the keys that it sets"), c.list);
}

struct ConstraintConfig {
  std::string require;
  std::string because;
};

template <class V>
void describe(V& v, ConstraintConfig& c) {
  using yaml::required;
  v(required("require",
             "A condition, as in limits.tokens >= limits.rows; other points are dropped"),
    c.require);
  v(required("because", "The reason, which is printed"), c.because);
}

/// A lone number n is {count: n}.
struct RepeatsConfig {
  using Shorthand = std::uint32_t;
  std::uint32_t count = 1;
  std::vector<std::string> seeds{"runtime.seed"};

  RepeatsConfig() = default;
  explicit RepeatsConfig(std::uint32_t n) : count(n) {}
};

inline constexpr double kMaxRepeats = 10'000;

template <class V>
void describe(V& v, RepeatsConfig& c) {
  using yaml::key, yaml::required;
  v(required("count", "How often each point is run").range(1, kMaxRepeats), c.count);
  v(key("seeds", "Keys of integers, to which each repeat adds its number: 0, 1, ..."), c.seeds);
}

struct SweepConfig {
  std::string base;
  yaml::FreeMap<yaml::Node> set;
  std::vector<AxisConfig> axes;
  std::vector<ConstraintConfig> constraints;
  RepeatsConfig repeats;
};

template <class V>
void describe(V& v, SweepConfig& c) {
  using yaml::key, yaml::required;
  v(required("base", "The configuration that is varied; a path from this file's folder"), c.base);
  v(key("set", "Values of all points, as --set gives them"), c.set);
  v(required("axes", "What is varied: every combination of their points; the last varies fastest"),
    c.axes);
  v(key("constraints", "Which points are run"), c.constraints);
  v(key("repeats", "How often each point is run, an integer or a map; left out: once")
        .range(1, kMaxRepeats),
    c.repeats);
}

/// A sweep as it was read, with the places of its values.
struct SweepFile {
  std::filesystem::path file;
  SweepConfig config;
  yaml::Origins origins;
};

/// Whether `whole` names the value that `part` names, or one that it is a part of.
bool path_covers(std::string_view whole, std::string_view part);

/// Throws ConfigError, also for axes that are empty, of unequal lengths, or about one key.
SweepFile load_sweep(const std::filesystem::path& file);
/// The same of a file that has been read.
SweepFile read_sweep(const yaml::Node& root, const std::filesystem::path& file);

}  // namespace syncopate::experiments
