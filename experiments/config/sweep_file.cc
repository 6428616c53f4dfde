#include "experiments/config/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "experiments/yaml/error.h"
#include "experiments/yaml/reader.h"

namespace syncopate::experiments {
namespace {

/// A key that is set, with its place.
struct KeyUse {
  std::string key;
  yaml::Where where;
};

/// Writes ranges out.
class RangeExpansion {
 public:
  explicit RangeExpansion(SweepFile& sweep) : sweep_(sweep) {}

  void expand() {
    for (std::size_t i = 0; i < sweep_.config.axes.size(); ++i) {
      expand_keys(sweep_.config.axes[i].grid, fmt::format("axes[{}].grid", i));
      expand_keys(sweep_.config.axes[i].zip, fmt::format("axes[{}].zip", i));
    }
  }

 private:
  void expand_keys(AxisKeys& keys, const std::string& path) const {
    for (auto& entry : keys.entries) {
      if (const auto* range = std::get_if<RangeConfig>(&entry.value)) {
        entry.value = numbers(*range, fmt::format("{}.{}", path, entry.key));
      }
    }
  }

  std::vector<yaml::Node> numbers(const RangeConfig& c, const std::string& path) const {
    const yaml::Where& where = sweep_.origins.find(path);
    const auto fail = [&](std::string_view what) {
      throw yaml::ConfigError(where, fmt::format("{}: {}", path, what));
    };
    if (c.step.has_value() == c.factor.has_value()) fail("expected one of: step, factor");
    if (c.step && *c.step <= 0) fail("step must be above 0");
    if (c.factor && *c.factor <= 1) fail("factor must be above 1");
    if (c.factor && c.from <= 0) fail("from must be above 0, where there is a factor");
    const double last = c.to + 1e-9 * std::abs(c.to);  // 0.1 + 0.1 + 0.1 is no more than 0.3
    std::vector<yaml::Node> out;
    for (double number = c.from; number <= last;) {
      yaml::Node& node = out.emplace_back(yaml::Node::scalar(fmt::format("{:.12g}", number)));
      node.where = where;
      const auto count = static_cast<double>(out.size());
      number = c.step ? c.from + count * *c.step : c.from * std::pow(*c.factor, count);
      if (out.size() > kMaxPoints) fail(fmt::format("has more than {} numbers", kMaxPoints));
    }
    return out;
  }

  SweepFile& sweep_;
};

/// Rules over a sweep's file.
class SweepRules {
 public:
  explicit SweepRules(const SweepFile& sweep) : sweep_(sweep) {}

  void check() {
    const SweepConfig& c = sweep_.config;
    if (c.axes.empty()) fail("axes", "is empty: a sweep varies something");
    for (const auto& entry : c.set.entries) check_path(entry.key, entry.where);
    for (std::size_t i = 0; i < c.axes.size(); ++i) check_axis(i);
    for (std::size_t i = 0; i < c.repeats.seeds.size(); ++i) {
      const std::string path = fmt::format("repeats.seeds[{}]", i);
      check_path(c.repeats.seeds[i], sweep_.origins.find(path));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& path, std::string_view message) const {
    throw yaml::ConfigError(sweep_.origins.find(path), fmt::format("{}: {}", path, message));
  }

  static void check_path(const std::string& key, const yaml::Where& where) {
    if (yaml::is_path(key)) return;
    throw yaml::ConfigError(
        where, fmt::format("'{}' is no key: expected one as in limits.rows", yaml::clipped(key)));
  }

  /// With two values for one key, which of them holds would be a matter of order.
  [[noreturn]] static void refuse_twice(const KeyUse& used, const KeyUse& other) {
    const std::string same =
        other.key == used.key ? "" : fmt::format(" as '{}'", yaml::clipped(other.key));
    throw yaml::ConfigError(
        used.where,
        fmt::format("'{}' is set twice: at line {}, column {} already{}", yaml::clipped(used.key),
                    other.where.line, other.where.column, same));
  }

  /// An axis may change a part of what `set` gives to all points.
  void use(KeyUse used) {
    check_path(used.key, used.where);
    for (const auto& entry : sweep_.config.set.entries) {
      if (path_covers(used.key, entry.key)) refuse_twice(used, {entry.key, entry.where});
    }
    for (const KeyUse& other : used_) {
      if (path_covers(used.key, other.key) || path_covers(other.key, used.key)) {
        refuse_twice(used, other);
      }
    }
    used_.push_back(std::move(used));
  }

  void check_axis(std::size_t index) {
    const AxisConfig& axis = sweep_.config.axes[index];
    const std::string path = fmt::format("axes[{}]", index);
    int forms = 0;
    for (const char* form : {"grid", "zip", "list"}) {
      forms += static_cast<int>(sweep_.origins.written(fmt::format("{}.{}", path, form)));
    }
    if (forms != 1) fail(path, "expected one of: grid, zip, list");
    if (sweep_.origins.written(path + ".list")) return check_list(axis, path + ".list");
    const bool zip = sweep_.origins.written(path + ".zip");
    const auto& keys = zip ? axis.zip : axis.grid;
    const std::string below = path + (zip ? ".zip" : ".grid");
    if (keys.entries.empty()) fail(below, "is empty: it names no key");
    for (const auto& entry : keys.entries) {
      const std::string at = fmt::format("{}.{}", below, entry.key);
      use({entry.key, entry.where});
      if (values_of(entry).empty()) fail(at, "is an empty axis: it has no value");
      const std::size_t length = values_of(keys.entries.front()).size();
      if (zip && values_of(entry).size() != length) {
        fail(at, fmt::format("has {} values, and {} has {}: a zip goes through them together",
                             values_of(entry).size(), keys.entries.front().key, length));
      }
    }
  }

  /// Its points may set the same keys, for there is one of them at a time.
  void check_list(const AxisConfig& axis, const std::string& path) {
    if (axis.list.empty()) fail(path, "is an empty axis: it has no point");
    std::vector<KeyUse> keys;
    for (std::size_t i = 0; i < axis.list.size(); ++i) {
      const auto& entries = axis.list[i].entries;
      if (entries.empty()) fail(fmt::format("{}[{}]", path, i), "is empty: it sets no key");
      for (const auto& entry : entries) {
        const auto same = [&](const KeyUse& used) { return used.key == entry.key; };
        if (std::ranges::none_of(keys, same)) keys.push_back({entry.key, entry.where});
      }
    }
    for (KeyUse& key : keys) use(std::move(key));
  }

  const SweepFile& sweep_;
  std::vector<KeyUse> used_;  ///< By axes.
};

}  // namespace

bool path_covers(std::string_view whole, std::string_view part) {
  while (!whole.empty() && !part.empty()) {
    const std::string_view left = whole.substr(0, whole.find('.'));
    const std::string_view right = part.substr(0, part.find('.'));
    if (left != right && left != "*" && right != "*") return false;
    whole.remove_prefix(std::min(left.size() + 1, whole.size()));
    part.remove_prefix(std::min(right.size() + 1, part.size()));
  }
  return whole.empty();
}

SweepFile load_sweep(const std::filesystem::path& file) {
  return read_sweep(yaml::load(file), file);
}

SweepFile read_sweep(const yaml::Node& root, const std::filesystem::path& file) {
  SweepFile sweep;
  sweep.file = file;
  sweep.config = yaml::read<SweepConfig>(root, sweep.origins);
  RangeExpansion(sweep).expand();
  SweepRules(sweep).check();
  return sweep;
}

}  // namespace syncopate::experiments
