#include "backend/runtime/activity.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/runtime/timeline.h"

namespace syncopate::runtime {
namespace {

struct Issue {
  Nanos begin;
  Nanos end;
  std::uint32_t operation;
};

bool is_call(ActivityKind kind) {
  return kind == ActivityKind::kRuntimeCall || kind == ActivityKind::kDriverCall;
}

// By host, when each operation was issued: in time's order, since a host does one thing at a time.
std::vector<std::vector<Issue>> issues_by_host(const Timeline& timeline) {
  std::vector<std::vector<Issue>> issues(timeline.hosts);
  for (std::uint32_t i = 0; i < timeline.operations.size(); ++i) {
    const Operation& op = timeline.operations[i];
    const bool issued = op.issue_end > 0;  // not so: nodes, and what failed to be enqueued
    if (issued && op.kind != OperationKind::kGraphNode && op.host < issues.size()) {
      issues[op.host].push_back({op.issue_begin, op.issue_end, i});
    }
  }
  return issues;
}

std::uint32_t operation_at(const std::vector<Issue>& issues, const Activity& call) {
  const auto after = std::ranges::upper_bound(issues, call.start, {}, &Issue::begin);
  if (after == issues.begin()) return Activity::kNoOperation;
  const Issue& issue = *std::prev(after);
  return call.end <= issue.end ? issue.operation : Activity::kNoOperation;
}

}  // namespace

void attach_activities(Log<Activity>& activities, const Timeline& timeline) {
  const std::vector<std::vector<Issue>> issues = issues_by_host(timeline);
  std::unordered_map<std::uint32_t, const Activity*> calls;  // by correlation
  for (Activity& activity : activities) {
    if (!is_call(activity.kind) || activity.device >= issues.size()) continue;
    activity.operation = operation_at(issues[activity.device], activity);
    calls.emplace(activity.correlation, &activity);
  }
  for (Activity& activity : activities) {
    if (is_call(activity.kind)) continue;
    const auto found = calls.find(activity.correlation);
    if (found == calls.end()) continue;
    activity.operation = found->second->operation;
    if (activity.kind == ActivityKind::kSync) activity.device = found->second->device;
  }
  std::ranges::sort(activities, {}, [](const Activity& a) {
    return std::tuple(a.operation, a.start, -a.end, a.correlation, a.kind);
  });
}

}  // namespace syncopate::runtime
