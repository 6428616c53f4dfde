#include "backend/runtime/activity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/runtime/timeline.h"

namespace syncopate::runtime {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kNone = Activity::kNoOperation;

Operation operation(OperationKind kind, std::uint16_t host, Nanos begin, Nanos end) {
  Operation op;
  op.kind = kind;
  op.host = host;
  op.issue_begin = begin;
  op.issue_end = end;
  return op;
}

Activity call(std::uint16_t host, std::uint32_t correlation, Nanos start, Nanos end) {
  Activity activity;
  activity.name = "call";
  activity.kind = ActivityKind::kRuntimeCall;
  activity.device = host;
  activity.correlation = correlation;
  activity.start = start;
  activity.end = end;
  return activity;
}

Activity started(ActivityKind kind, std::uint32_t correlation, Nanos start) {
  Activity activity;
  activity.kind = kind;
  activity.correlation = correlation;
  activity.start = start;
  activity.end = start + 1;
  return activity;
}

/// Two hosts; the first launches a graph of one node and something that failed.
Timeline timeline() {
  Timeline t;
  t.hosts = 2;
  t.operations = {operation(OperationKind::kKernel, 0, 100, 200),
                  operation(OperationKind::kGraph, 0, 300, 400),
                  operation(OperationKind::kGraphNode, 0, 0, 0),
                  operation(OperationKind::kHostBlock, 0, 500, 900),
                  operation(OperationKind::kKernel, 0, 0, 0),
                  operation(OperationKind::kKernel, 1, 150, 350)};
  return t;
}

std::vector<std::uint32_t> operations_of(const Log<Activity>& activities) {
  std::vector<std::uint32_t> found;
  for (const Activity& activity : activities) found.push_back(activity.operation);
  return found;
}

TEST(AttachActivities, ACallBelongsToTheOperationWithinWhoseIssueItLies) {
  Log<Activity> activities = {call(0, 1, 100, 200), call(0, 2, 301, 399), call(0, 3, 600, 610),
                              call(1, 4, 160, 340)};
  attach_activities(activities, timeline());
  EXPECT_THAT(operations_of(activities), ElementsAre(0U, 1U, 3U, 5U));
}

TEST(AttachActivities, ACallThatLiesInNoIssueBelongsToNoOperation) {
  Log<Activity> activities = {call(0, 1, 50, 60),     call(0, 2, 210, 220), call(0, 3, 190, 210),
                              call(0, 4, 2000, 2001), call(1, 5, 400, 410), call(7, 6, 100, 200)};
  attach_activities(activities, timeline());
  EXPECT_THAT(operations_of(activities), testing::Each(kNone));
}

TEST(AttachActivities, WhatACallStartedBelongsWhereTheCallDoesWheneverItRuns) {
  Log<Activity> activities = {started(ActivityKind::kKernel, 2, 5000),
                              started(ActivityKind::kCopy, 1, 100),
                              call(0, 1, 110, 120),
                              call(0, 2, 310, 320),
                              started(ActivityKind::kFill, 2, 4000),
                              started(ActivityKind::kKernel, 9, 0)};
  attach_activities(activities, timeline());
  EXPECT_THAT(operations_of(activities), ElementsAre(0U, 0U, 1U, 1U, 1U, kNone));
  EXPECT_EQ(activities[3].start, 4000);
  EXPECT_EQ(activities[4].start, 5000);
}

TEST(AttachActivities, AWaitIsOfTheHostThatCalled) {
  Log<Activity> activities = {started(ActivityKind::kSync, 4, 170), call(1, 4, 160, 340)};
  attach_activities(activities, timeline());
  EXPECT_EQ(activities[1].kind, ActivityKind::kSync);
  EXPECT_EQ(activities[1].device, 1);
  EXPECT_EQ(activities[1].operation, 5U);
}

}  // namespace
}  // namespace syncopate::runtime
