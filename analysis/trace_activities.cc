#include "analysis/trace_activities.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace syncopate::analysis {
namespace {

using runtime::ActivityKind;
using runtime::Operation;

bool is_work(const runtime::Activity& activity) { return activity.kind <= ActivityKind::kFill; }
Interval time_of(const runtime::Activity& activity) { return {activity.start, activity.end}; }

}  // namespace

TraceActivities::TraceActivities(const runtime::Timeline& timeline, TraceEvents& events,
                                 TraceRows& rows)
    : t_(timeline), events_(events), rows_(rows), records_(timeline.activities->records) {
  for (const runtime::Activity& activity : records_) {
    last_correlation_ = std::max(last_correlation_, activity.correlation);
  }
}

bool TraceActivities::write_operation(std::size_t index, std::int32_t external_id) {
  while (next_ < records_.size() && records_[next_].operation < index) ++next_;
  const std::size_t first = next_;
  while (next_ < records_.size() && records_[next_].operation == index) ++next_;
  const Records records = records_.subspan(first, next_ - first);
  if (records.empty()) return false;

  const Operation& op = t_.operations[index];
  events_.slice("cpu_op", op.name, rows_.host(op.host), {op.issue_begin, op.issue_end},
                "\"External id\": {}", external_id);
  // The operation on the device, from its first record to its last: its own times are of another
  // clock, and could be some microseconds inside its kernels.
  Interval span{INT64_MAX, 0};
  for (const runtime::Activity& activity : records) {
    if (!is_work(activity)) continue;
    span.begin = std::min(span.begin, activity.start);
    span.end = std::max(span.end, activity.end);
  }
  if (span.begin < span.end && op.stream) {
    events_.slice("gpu_user_annotation", op.name, rows_.stream(op.stream, 0), span,
                  "\"External id\": {}", external_id);
  }
  write_records(records, &op, external_id);
  return true;
}

void TraceActivities::write_rest(const Interval& time) {
  while (next_ < records_.size() && records_[next_].operation != runtime::Activity::kNoOperation)
    ++next_;
  const Records rest = records_.subspan(next_);
  const auto begin = std::ranges::lower_bound(rest, time.begin, {}, &runtime::Activity::start);
  const auto end =
      std::ranges::lower_bound(begin, rest.end(), time.end, {}, &runtime::Activity::start);
  write_records({begin, end}, nullptr, 0);
}

void TraceActivities::write_records(Records records, const Operation* op,
                                    std::int32_t external_id) {
  std::unordered_set<std::uint32_t> starts_work;  // correlations
  for (const runtime::Activity& activity : records) {
    if (is_work(activity)) starts_work.insert(activity.correlation);
  }
  for (const runtime::Activity& activity : records) {
    if (is_work(activity)) {
      write_work(activity, op, external_id);
    } else if (activity.kind == ActivityKind::kSync) {
      write_sync(activity, external_id);
    } else {
      const bool driver = activity.kind == ActivityKind::kDriverCall;
      const TraceRow row = rows_.host(activity.device);
      events_.slice(driver ? "cuda_driver" : "cuda_runtime", activity.name, row, time_of(activity),
                    "\"External id\": {}, \"correlation\": {}", external_id, activity.correlation);
      if (starts_work.contains(activity.correlation)) {
        events_.flow_start(activity.correlation, row, activity.start);
      }
    }
  }
}

void TraceActivities::write_work(const runtime::Activity& work, const Operation* op,
                                 std::int32_t external_id) {
  const runtime::GraphNodeInfo* node = node_of(work, op);
  const TraceRow row = node ? rows_.stream(op->stream, node->lane) : row_of(work);
  const runtime::Name operation = node ? node->name : op ? op->name : "";
  if (work.kind == ActivityKind::kKernel) {
    const std::int64_t graph = node ? std::int64_t{op->graph.id} : -1;
    events_.slice("kernel", work.name, row, time_of(work),
                  "\"External id\": {}, \"operation\": {}, \"queued\": 0, \"device\": {}, "
                  "\"context\": 1, \"stream\": {}, \"correlation\": {}, \"graph id\": {}, "
                  "\"graph node id\": {}",
                  external_id, events_.quoted(operation), row.process, row.thread, work.correlation,
                  graph, node ? std::int64_t{work.node} : -1);
  } else {
    const std::uint64_t rate = milli_gbps(work.bytes, time_of(work));
    events_.slice(work.kind == ActivityKind::kCopy ? "gpu_memcpy" : "gpu_memset", work.name, row,
                  time_of(work),
                  "\"External id\": {}, \"operation\": {}, \"device\": {}, \"context\": 1, "
                  "\"stream\": {}, \"correlation\": {}, \"bytes\": {}, "
                  "\"memory bandwidth (GB/s)\": {}.{:03}",
                  external_id, events_.quoted(operation), row.process, row.thread, work.correlation,
                  work.bytes, rate / 1000, rate % 1000);
  }
  events_.flow_end(work.correlation, row, work.start);
}

void TraceActivities::write_sync(const runtime::Activity& sync, std::int32_t external_id) {
  const TraceRow row = rows_.sync(sync.device);
  // Only what holds a stream has one here: tools take that for work of the device.
  const bool holds_stream = std::string_view(sync.name) == "Stream Wait Event";
  events_.slice("cuda_sync", sync.name, row, time_of(sync),
                "\"External id\": {}, \"wait_on_stream\": -1, "
                "\"wait_on_cuda_event_record_corr_id\": -1, \"wait_on_cuda_event_id\": -1, "
                "\"device\": {}, \"context\": 1, \"stream\": {}, \"correlation\": {}",
                external_id, row.process, holds_stream ? row_of(sync).thread : -1,
                sync.correlation);
}

const runtime::GraphNodeInfo* TraceActivities::node_of(const runtime::Activity& work,
                                                       const Operation* op) const {
  if (op == nullptr || op->graph.id >= t_.graphs.size()) return nullptr;
  const auto& nodes = t_.graphs[op->graph.id].nodes;
  return work.node < nodes.size() ? &nodes[work.node] : nullptr;
}

TraceRow TraceActivities::row_of(const runtime::Activity& activity) {
  return activity.stream ? rows_.stream(activity.stream, 0)
                         : rows_.native_stream(activity.device, activity.native_stream);
}

}  // namespace syncopate::analysis
