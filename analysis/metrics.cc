#include "analysis/metrics.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/error.h"
#include "analysis/intervals.h"
#include "analysis/operations.h"

namespace syncopate::analysis {

using runtime::Call;
using runtime::CallType;
using runtime::kNoStep;
using runtime::kUnknownTime;
using runtime::Nanos;
using runtime::NodeType;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Timeline;

namespace {

/// A step's device activity, and the operation that it begins with.
struct Activity {
  Interval time;
  std::uint32_t first = 0;
};

/// A value a step, ordered by number. Operations come almost in order: a step is looked for where
/// the one before it was, and added at the end.
template <class T>
class BySteps {
 public:
  /// Made of T{} at first.
  T& operator[](std::int32_t step) {
    if (last_ < values_.size() && values_[last_].first == step) return values_[last_].second;
    auto at = values_.end();
    if (!values_.empty() && values_.back().first >= step) {
      at = std::ranges::lower_bound(values_, step, {}, &Value::first);
    }
    last_ = static_cast<std::size_t>(at - values_.begin());
    if (at == values_.end() || at->first != step) at = values_.insert(at, {step, T{}});
    return at->second;
  }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  using Value = std::pair<std::int32_t, T>;
  std::vector<Value> values_;
  std::size_t last_ = 0;
};

/// When one of a step's copies to the device ended.
struct CopyEnd {
  std::int32_t step = kNoStep;
  Nanos end = 0;
};

/// What one pass over the operations collects.
struct Collected {
  BySteps<std::optional<Activity>> steps;
  std::vector<Activity> outside;  // kernels and graphs of no step
  std::vector<CopyEnd> h2d_ends;  // by step
  BySteps<Nanos> host_times;
  std::vector<Interval> kernels;
  Nanos blocked = 0;
};

bool computes(const Timeline& timeline, const Operation& node) {
  if (node.graph.id >= timeline.graphs.size()) return true;
  const auto& nodes = timeline.graphs[node.graph.id].nodes;
  if (node.node >= nodes.size()) return true;
  return nodes[node.node].type == NodeType::kKernel || nodes[node.node].type == NodeType::kCopy;
}

/// The busy intervals of the graph launch at `index`.
void add_graph(const Timeline& timeline, std::uint32_t index, std::vector<Interval>& kernels) {
  const auto& operations = timeline.operations;
  bool nodes_have_times = false;
  for (std::size_t i = index + 1;
       i < operations.size() && operations[i].kind == OperationKind::kGraphNode; ++i) {
    if (!has_times(operations[i])) continue;
    nodes_have_times = true;
    if (computes(timeline, operations[i]))
      kernels.push_back({operations[i].start, operations[i].end});
  }
  const Operation& launch = operations[index];
  if (!nodes_have_times && has_times(launch)) kernels.push_back({launch.start, launch.end});
}

void add_activity(const Operation& op, std::uint32_t index, Collected& all) {
  if (op.step == kNoStep) {
    all.outside.push_back({{op.start, op.end}, index});
    return;
  }
  std::optional<Activity>& activity = all.steps[op.step];
  if (!activity) {
    activity = {{op.start, op.end}, index};
    return;
  }
  activity->time.end = std::max(activity->time.end, op.end);
  if (op.start < activity->time.begin) {
    activity->time.begin = op.start;
    activity->first = index;
  }
}

Collected collect(const Timeline& timeline, std::uint16_t device) {
  Collected all;
  for (std::uint32_t i = 0; i < timeline.operations.size(); ++i) {
    const Operation& op = timeline.operations[i];
    if (is_host_kind(op.kind)) {
      if (op.host != device || !has_times(op)) continue;
      if (op.kind == OperationKind::kHostBlock) {
        all.blocked += op.end - op.start;
      } else if (op.step != kNoStep) {
        all.host_times[op.step] += op.end - op.start;
      }
      continue;
    }
    if (op.stream.id >= timeline.streams.size()) {
      throw InvalidTimelineError("operation " + std::to_string(i) + " '" + op.name +
                                 "' ran in a stream that is not there");
    }
    if (op.kind == OperationKind::kGraphNode) continue;  // with their launch
    if (op.host == device && op.step != kNoStep) {
      all.host_times[op.step] += op.issue_end - op.issue_begin;
    }
    if (timeline.streams[op.stream.id].device != device) continue;
    if (op.kind == OperationKind::kGraph) {
      add_graph(timeline, i, all.kernels);
    } else if (has_times(op)) {
      all.kernels.push_back({op.start, op.end});
    }
    if (!has_times(op)) continue;
    if (!is_copy(op.kind)) add_activity(op, i, all);
    if (op.kind == OperationKind::kCopyH2D && op.step != kNoStep) {
      all.h2d_ends.push_back({op.step, op.end});
    }
  }
  if (!std::ranges::is_sorted(all.h2d_ends, {}, &CopyEnd::step)) {
    std::ranges::stable_sort(all.h2d_ends, {}, &CopyEnd::step);
  }
  return all;
}

/// For each operation the moment at which all had ended that its stream's place puts before it: the
/// stream's earlier work and what it waits for by events. Each host's log in turn, so a wait for
/// work that another host logged later is not seen.
std::vector<Nanos> dependencies_end(const Timeline& timeline) {
  std::vector<Nanos> result(timeline.operations.size(), 0);
  std::vector<std::vector<Nanos>> reached(timeline.streams.size(), std::vector<Nanos>{0});
  for (const Call& call : timeline.calls) {
    const bool waits = call.type == CallType::kWait && call.target.sequence != 0;
    const bool enters = call.type == CallType::kEnqueue || call.type == CallType::kSignal ||
                        call.type == CallType::kWaitFlag || waits;
    if (!enters || call.at.stream.id >= reached.size()) continue;
    std::vector<Nanos>& stream = reached[call.at.stream.id];
    Nanos ready = stream.back();
    if (waits && call.target.stream.id < reached.size()) {
      const std::vector<Nanos>& target = reached[call.target.stream.id];
      if (call.target.sequence < target.size()) {
        ready = std::max(ready, target[call.target.sequence]);
      }
    }
    if (call.type == CallType::kEnqueue && call.operation < timeline.operations.size()) {
      result[call.operation] = ready;
      ready = std::max(ready, timeline.operations[call.operation].end);
    }
    stream.push_back(ready);
  }
  return result;
}

IdleCauses split_idle(const Timeline& timeline, const Collected& all) {
  std::vector<Activity> activities = all.outside;
  for (const auto& [step, activity] : all.steps) activities.push_back(*activity);
  std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) {
    return a.time.begin != b.time.begin ? a.time.begin < b.time.begin : a.first < b.first;
  });
  const std::vector<Nanos> dependencies = dependencies_end(timeline);

  IdleCauses idle;
  Nanos busy_until = 0;
  for (const Activity& activity : activities) {
    const Nanos begin = activity.time.begin;
    if (begin > busy_until) {
      const Operation& first = timeline.operations[activity.first];
      Nanos at = busy_until;
      const auto advance = [&at, begin](Nanos to) {
        const Nanos from = at;
        at = std::clamp(to, from, begin);
        return at - from;
      };
      idle.host += advance(first.issue_end);
      Nanos copied = 0;
      const auto copies = std::ranges::equal_range(all.h2d_ends, first.step, {}, &CopyEnd::step);
      for (const CopyEnd& copy : copies) {
        if (copy.end <= begin) copied = std::max(copied, copy.end);
      }
      idle.copy += advance(copied);
      idle.dependency += advance(dependencies[activity.first]);
      idle.launch += advance(begin);
    }
    busy_until = std::max(busy_until, activity.time.end);
  }
  idle.drain = std::max<Nanos>(timeline.end - busy_until, 0);
  return idle;
}

}  // namespace

Metrics measure(const Timeline& timeline, std::uint16_t device) {
  Collected all = collect(timeline, device);
  Metrics metrics;
  metrics.total_time = timeline.end;
  metrics.host_busy = timeline.end - all.blocked;
  metrics.idle = split_idle(timeline, all);

  std::vector<Interval> active;
  std::vector<Nanos> step_times;
  Nanos last_end = 0;
  for (const auto& [step, activity] : all.steps) {
    if (!active.empty()) step_times.push_back(activity->time.end - last_end);
    last_end = activity->time.end;
    active.push_back(activity->time);
  }
  for (const Activity& activity : all.outside) active.push_back(activity.time);
  merge(active);
  metrics.device_active = length(active);
  merge(all.kernels);
  metrics.kernel_active = length(all.kernels);
  metrics.step_time = distribution(std::move(step_times));

  std::vector<Nanos> host_times;
  for (const auto& [step, time] : all.host_times) host_times.push_back(time);
  metrics.host_time = distribution(std::move(host_times));
  return metrics;
}

}  // namespace syncopate::analysis
