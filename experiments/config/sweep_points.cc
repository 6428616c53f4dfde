#include "experiments/config/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "experiments/config/expression.h"
#include "experiments/yaml/error.h"
#include "experiments/yaml/writer.h"

namespace syncopate::experiments {
namespace {

struct Setting {
  std::string key;
  yaml::Where where;  ///< Of the key.
  yaml::Node value;
};
using Settings = std::vector<Setting>;
/// What one axis chooses from.
using Choices = std::vector<Settings>;

Settings settings_of(const yaml::FreeMap<yaml::Node>& map) {
  Settings out;
  for (const auto& entry : map.entries) out.push_back({entry.key, entry.where, entry.value});
  return out;
}

void add_choices(const AxisConfig& axis, std::vector<Choices>& out) {
  for (const auto& entry : axis.grid.entries) {
    Choices& choices = out.emplace_back();
    for (const yaml::Node& value : values_of(entry)) {
      choices.push_back({Setting{entry.key, entry.where, value}});
    }
  }
  if (!axis.zip.entries.empty()) {
    Choices& choices = out.emplace_back(values_of(axis.zip.entries.front()).size());
    for (const auto& entry : axis.zip.entries) {
      for (std::size_t i = 0; i < choices.size(); ++i) {
        choices[i].push_back({entry.key, entry.where, values_of(entry)[i]});
      }
    }
  }
  if (!axis.list.empty()) {
    Choices& choices = out.emplace_back();
    for (const auto& item : axis.list) choices.push_back(settings_of(item));
  }
}

void apply(const Setting& setting, yaml::Node& root) {
  if (setting.key == "runtime.kind") return set_runtime(root, setting.value, setting.where);
  yaml::set_at(root, setting.key, setting.value, setting.where);
}

/// The value under a path, or null.
const yaml::Node* find_at(const yaml::Node& root, std::string_view path) {
  const yaml::Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::string_view part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (node->kind != yaml::Node::Kind::kList) {
      node = node->find(part);
      continue;
    }
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.begin(), part.end(), index);
    const bool there = error == std::errc() && end == part.end() && index < node->items.size();
    node = there ? &node->items[index] : nullptr;
  }
  return node;
}

std::string flow_text(const yaml::Node& value) {
  yaml::Node list = yaml::Node::list();  // a map by itself would be dumped in lines
  list.items.push_back(value);
  const std::string text = yaml::dump(list);
  return text.substr(1, text.size() - 3);  // "[…]\n"
}

/// 64 bits of FNV-1a.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// `text` for a name of a folder: what may stand in one everywhere.
std::string plain_name(std::string_view text) {
  constexpr std::string_view kPlain = "._+-=";
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  return out;
}

class Planner {
 public:
  Planner(const std::filesystem::path& file, const Overrides& overrides) {
    plan_.sweep = load_sweep(file);
    for (const AxisConfig& axis : config().axes) add_choices(axis, axes_);
    for (const Choices& choices : axes_) {
      for (const Settings& settings : choices) {
        for (const Setting& setting : settings) add_key(setting.key);
      }
    }
    check_size();
    load_base(overrides);
    for (std::size_t i = 0; i < config().constraints.size(); ++i) {
      const yaml::Where& where =
          plan_.sweep.origins.find(fmt::format("constraints[{}].require", i));
      constraints_.emplace_back(config().constraints[i].require, where);
    }
  }

  SweepPlan plan() {
    std::vector<std::size_t> at(axes_.size(), 0);
    for (;;) {
      Settings settings;
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        const Settings& chosen = axes_[i][at[i]];
        settings.insert(settings.end(), chosen.begin(), chosen.end());
      }
      add_points(settings);
      std::size_t axis = axes_.size();
      while (axis > 0 && ++at[axis - 1] == axes_[axis - 1].size()) at[--axis] = 0;
      if (axis == 0) break;
    }
    if (plan_.points.empty()) fail("constraints", "drop every point");
    return std::move(plan_);
  }

 private:
  const SweepConfig& config() const { return plan_.sweep.config; }

  [[noreturn]] void fail(const std::string& path, std::string_view message) const {
    throw yaml::ConfigError(plan_.sweep.origins.find(path), fmt::format("{}: {}", path, message));
  }

  void add_key(const std::string& key) {
    if (std::ranges::find(plan_.keys, key) == plan_.keys.end()) plan_.keys.push_back(key);
  }

  void check_size() const {
    std::size_t points = config().repeats.count;
    for (const Choices& choices : axes_) {
      if (choices.size() > kMaxPoints / points) {
        fail("axes", fmt::format("make more than {} points", kMaxPoints));
      }
      points *= choices.size();
    }
  }

  void load_base(const Overrides& overrides) {
    plan_.base = plan_.sweep.file.parent_path() / config().base;
    try {
      root_ = yaml::load(plan_.base);
    } catch (const yaml::ConfigError& error) {
      if (error.where().line != 0) throw;
      fail("base", error.what());  // such as: no such file
    }
    for (const Setting& setting : settings_of(config().set)) apply(setting, root_);
    override_base(overrides);
    add_defaults();
  }

  /// What a run is asked to write, a sweep would write a thousand times.
  void add_defaults() {
    const auto said = [this](const std::string& path) {
      return find_at(root_, path) != nullptr ||
             std::ranges::any_of(plan_.keys,
                                 [&](const auto& key) { return path_covers(key, path); });
    };
    const yaml::Where place{std::make_shared<const std::string>("the sweep's default"), 0, 0};
    yaml::Node off = yaml::Node::scalar("false");
    off.where = place;
    // A trace needs the log.
    if (!said("output.log") && !said("output.trace")) {
      yaml::set_at(root_, "output.log", off, place);
    }
    if (!said("output.tables")) yaml::set_at(root_, "output.tables", off, place);
  }

  void override_base(const Overrides& overrides) {
    const auto refuse_axis = [this](std::string_view path, const std::string& option) {
      for (const std::string& key : plan_.keys) {
        if (!path_covers(key, path)) continue;
        throw yaml::ConfigError(
            {std::make_shared<const std::string>(option), 0, 0},
            fmt::format("'{}' is an axis of {}", key, plan_.sweep.file.string()));
      }
    };
    if (overrides.runtime) {
      const std::string option = "--runtime " + *overrides.runtime;
      refuse_axis("runtime.kind", option);
      const yaml::Where place{std::make_shared<const std::string>(option), 0, 0};
      yaml::Node kind = yaml::Node::scalar(*overrides.runtime);
      kind.where = place;
      set_runtime(root_, kind, place);
    }
    for (const std::string& set : overrides.sets) {
      refuse_axis(std::string_view(set).substr(0, set.find('=')), "--set " + set);
      yaml::assign(root_, set);
    }
  }

  /// The repeats of one combination, unless a constraint drops it.
  void add_points(const Settings& settings) {
    yaml::Node root = root_;
    for (const Setting& setting : settings) apply(setting, root);
    ResolvedConfig read = read_config(root, plan_.base);
    const yaml::Node written = yaml::write(read.config);
    std::vector<yaml::Node> values = values_of(settings, written);
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      if (constraints_[i].holds(written)) continue;
      plan_.dropped.push_back({std::move(values), config().constraints[i].because});
      return;
    }
    for (std::uint32_t repeat = 0; repeat < config().repeats.count; ++repeat) {
      const auto seeds = seeds_of(repeat, written);
      if (repeat > 0) {
        for (const Setting& seed : seeds) yaml::set_at(root, seed.key, seed.value, seed.where);
        read = read_config(root, plan_.base);
      }
      add_point({values, repeat, read, {}}, settings);
    }
  }

  std::vector<yaml::Node> values_of(const Settings& settings, const yaml::Node& written) const {
    std::vector<yaml::Node> out;
    for (const std::string& key : plan_.keys) {
      const auto set = std::ranges::find(settings, key, &Setting::key);
      const yaml::Node* value = set != settings.end() ? &set->value : find_at(written, key);
      out.push_back(value != nullptr ? *value : yaml::Node());
    }
    return out;
  }

  /// Each seed plus the repeat's number.
  Settings seeds_of(std::uint32_t repeat, const yaml::Node& written) const {
    Settings out;
    for (std::size_t i = 0; i < config().repeats.seeds.size(); ++i) {
      const std::string& key = config().repeats.seeds[i];
      const yaml::Node* seed = find_at(written, key);
      std::uint64_t value = 0;
      const std::string text = seed != nullptr ? seed->text : "";
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      const std::string path = fmt::format("repeats.seeds[{}]", i);
      if (error != std::errc() || end != text.data() + text.size()) {
        fail(path, fmt::format("the configuration has no integer '{}'", yaml::clipped(key)));
      }
      const yaml::Where& where = plan_.sweep.origins.find(path);
      yaml::Node sum = yaml::Node::scalar(fmt::format("{}", value + repeat));
      sum.where = where;
      out.push_back({key, where, std::move(sum)});
    }
    return out;
  }

  void add_point(SweepPoint point, const Settings& settings) {
    try {
      resolve(point.config, profiles_);
    } catch (const yaml::ConfigError& error) {
      refuse_point(error, point);
    }
    name_point(point);
    if (!names_.insert(point.name).second) refuse_same(settings, point);
    plan_.points.push_back(std::move(point));
  }

  /// Tells it at the second of two equal values, where that is the reason.
  [[noreturn]] void refuse_same(const Settings& settings, const SweepPoint& point) const {
    yaml::Where where = settings.front().where;
    for (const Choices& choices : axes_) {
      std::unordered_set<std::string> seen;
      for (const Settings& choice : choices) {
        std::string text;
        for (const Setting& setting : choice) text += setting.key + flow_text(setting.value) + '\n';
        if (!seen.insert(text).second) where = choice.front().value.where;
      }
    }
    throw yaml::ConfigError(where, fmt::format("two points are the same: {}",
                                               describe_point(plan_.keys, point.values)));
  }

  /// What is right for one key may be wrong for a combination.
  [[noreturn]] void refuse_point(const yaml::ConfigError& error, const SweepPoint& point) const {
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.size(), error.where().text().size() + 2));
    throw yaml::ConfigError(error.where(),
                            fmt::format("{} (the point {}; a constraint can drop it)", what,
                                        describe_point(plan_.keys, point.values)));
  }

  void name_point(SweepPoint& point) {
    constexpr std::size_t kMostBytes = 80;  // beside the hash, and what a run's folder adds
    std::string varied;
    for (std::size_t i = 0; i < plan_.keys.size(); ++i) {
      if (point.values[i].kind == yaml::Node::Kind::kNull) continue;
      const std::string_view key = plan_.keys[i];
      varied += fmt::format("{}{}={}", varied.empty() ? "" : ",",
                            plain_name(key.substr(key.find_last_of('.') + 1)),
                            plain_name(flow_text(point.values[i])));
    }
    if (point.repeat > 0) varied += fmt::format(",repeat={}", point.repeat);
    Hash hash;
    hash.add(to_yaml(point.config.config));
    for (const auto* profile : {&point.config.profile, &point.config.search_profile}) {
      hash.add(*profile ? to_yaml(**profile) : "");
    }
    hash.add(fmt::format("{}", point.repeat));
    point.name = fmt::format("{}-{:016x}", varied.substr(0, kMostBytes), hash.value());
  }

  SweepPlan plan_;
  std::vector<Choices> axes_;
  std::vector<Expression> constraints_;
  yaml::Node root_;  ///< The base, with what all points have.
  Profiles profiles_;
  std::unordered_set<std::string> names_;
};

}  // namespace

SweepPlan plan_sweep(const std::filesystem::path& file, const Overrides& overrides) {
  return Planner(file, overrides).plan();
}

std::string describe_point(const std::vector<std::string>& keys,
                           const std::vector<yaml::Node>& values) {
  std::string out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (values[i].kind == yaml::Node::Kind::kNull) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", keys[i], flow_text(values[i]));
  }
  return out;
}

}  // namespace syncopate::experiments
