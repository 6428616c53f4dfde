#include "analysis/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/error.h"
#include "analysis/json_text.h"
#include "analysis/operations.h"
#include "analysis/trace_activities.h"
#include "analysis/trace_events.h"
#include "analysis/trace_rows.h"

namespace syncopate::analysis {
namespace {

using runtime::Call;
using runtime::CallType;
using runtime::kNoStep;
using runtime::kUnknownTime;
using runtime::Memory;
using runtime::Nanos;
using runtime::NodeType;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Stream;
using runtime::StreamKind;
using runtime::Timeline;

constexpr std::int64_t kUnknownCorrelation = -1;

runtime::Name launch_name(OperationKind kind) {
  if (kind == OperationKind::kGraph) return "cudaGraphLaunch";
  if (kind == OperationKind::kCopyPeer) return "cudaMemcpyPeerAsync";
  return is_copy(kind) ? "cudaMemcpyAsync" : "cudaLaunchKernel";
}

runtime::Name copy_name(OperationKind kind, bool pageable) {
  switch (kind) {
    case OperationKind::kCopyH2D:
      return pageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)";
    case OperationKind::kCopyD2H:
      return pageable ? "Memcpy DtoH (Device -> Pageable)" : "Memcpy DtoH (Device -> Pinned)";
    case OperationKind::kCopyPeer:
      return "Memcpy PtoP (Device -> Device)";
    default:
      return "Memcpy DtoD (Device -> Device)";
  }
}

/// Walks a timeline once, calls and operations side by side, and writes what it passes.
class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, const std::filesystem::path& file,
              const TraceOptions& options)
      : t_(timeline), options_(options), events_(file), rows_(timeline, events_, options.process) {
    if (!t_.activities) return;
    activities_.emplace(t_, events_, rows_);
    correlation_ = activities_->last_correlation();  // ids of ours come after CUPTI's
  }

  void write() {
    begin();
    for (const Call& call : t_.calls) {
      if (call.host != host_) {
        write_operations(end_of_host(next_));
        enter_host(call.host);
      }
      if (call.operation < t_.operations.size()) {
        if (call.operation < next_) {
          throw InvalidTimelineError("calls and operations are not in the same order");
        }
        write_operations(call.operation);
        write_operation(&call);
      } else {
        write_untimed(call);
      }
    }
    write_operations(t_.operations.size());
    if (activities_) activities_->write_rest(written_);
    events_.end();
  }

 private:
  void begin() {
    std::string devices;
    for (std::size_t device = 0; device < rows_.devices(); ++device) {
      devices += fmt::format("{}\n{{\"id\": {}, \"name\": {}}}", device == 0 ? "" : ",", device,
                             json_text(options_.device));
    }
    events_.begin(
        fmt::format("\"schemaVersion\": 1,\n\"deviceProperties\": [{}\n],\n"
                    "\"distributedInfo\": {{\"rank\": 0}},\n\"displayTimeUnit\": \"ms\",\n"
                    "\"baseTimeNanoseconds\": 0",
                    devices));
    rows_.begin();
  }

  // -- the walk --------------------------------------------------------------------------------

  std::size_t end_of_host(std::size_t index) const {
    while (index < t_.operations.size() && t_.operations[index].host == host_) ++index;
    return index;
  }
  void enter_host(std::uint16_t host) {
    host_ = host;
    step_ = newest_step_ = kNoStep;
    host_time_ = 0;
  }

  /// Those before `end` that no call names: the host was kept busy.
  void write_operations(std::size_t end) {
    while (next_ < end) write_operation(nullptr);
  }

  /// The next operation, with a graph launch its nodes; `call` is its call, if there is one.
  void write_operation(const Call* call) {
    const std::size_t index = next_++;
    const Operation& op = t_.operations[index];
    if (op.host != host_) enter_host(op.host);
    while (next_ < t_.operations.size() && t_.operations[next_].kind == OperationKind::kGraphNode) {
      ++next_;
    }
    if (op.step > newest_step_) write_step(index);
    step_ = op.step;
    host_time_ = op.issue_end;
    if (in_window() && activities_) {
      written_.begin = std::min(written_.begin, op.issue_begin);
      written_.end = std::max(written_.end, op.issue_end);
      if (activities_->write_operation(index, external_id())) return;
    }
    if (op.kind == OperationKind::kHostSpan) {
      if (!in_window()) return;
      events_.slice("cpu_op", op.name, rows_.host(host_), {op.start, op.end}, "\"External id\": {}",
                    external_id());
    } else if (op.kind == OperationKind::kHostBlock) {
      if (call != nullptr && call->type == CallType::kBlockFlag) return write_poll(op);
      ++correlation_;
      if (in_window() && call != nullptr) write_block(op, *call);
    } else {
      ++correlation_;
      if (in_window()) write_launch(index);
    }
  }

  /// The step that begins with the operation at `first`.
  void write_step(std::size_t first) {
    newest_step_ = t_.operations[first].step;
    if (!options_.window.contains(newest_step_)) return;
    Nanos end = t_.operations[first].issue_end;
    for (std::size_t i = first; i < t_.operations.size(); ++i) {
      const Operation& op = t_.operations[i];
      if (op.host != host_) break;
      if (op.kind == OperationKind::kGraphNode) continue;
      if (op.step > newest_step_) {
        end = op.issue_begin;
        break;
      }
      end = op.issue_end;
    }
    char name[40];
    const auto written = fmt::format_to_n(name, sizeof name, "\"ProfilerStep#{}\"", newest_step_);
    events_.quoted_slice("user_annotation", {name, written.size}, rows_.host(host_),
                         {t_.operations[first].issue_begin, end}, "\"External id\": {}",
                         newest_step_ + 1);
  }

  // -- host rows ---------------------------------------------------------------------------------

  void write_call(std::string_view category, runtime::Name name, const Interval& time) {
    events_.slice(category, name, rows_.host(host_), time,
                  "\"External id\": {}, \"correlation\": {}", external_id(), correlation_);
  }

  void write_launch(std::size_t index) {
    const Operation& op = t_.operations[index];
    write_call("cuda_runtime", launch_name(op.kind), {op.issue_begin, op.issue_end});
    flow_started_ = false;
    for (std::size_t i = index + 1; i < next_; ++i) {
      const Operation& node = t_.operations[i];
      if (has_times(node)) write_node(op, node);
    }
    if (flow_started_ || !has_times(op)) return;
    write_device_slice(op, op, op.kind, 0);
  }

  /// The host's side of the flow, once it is known to lead somewhere.
  void start_flow(const Operation& launch) {
    if (flow_started_) return;
    flow_started_ = true;
    events_.flow_start(correlation_, rows_.host(host_), launch.issue_begin);
  }

  /// A host that watches a flag makes no call.
  void write_poll(const Operation& op) {
    if (!in_window()) return;
    events_.slice("cpu_op", op.name, rows_.host(host_), {op.start, op.end}, "\"External id\": {}",
                  external_id());
  }

  void write_block(const Operation& op, const Call& call) {
    const bool on_event = static_cast<bool>(call.event);
    const Interval time{op.start, op.end};
    write_call("cuda_runtime", on_event ? "cudaEventSynchronize" : "cudaStreamSynchronize", time);
    // Its stream is -1, as CUPTI has it for events: tools take what has a stream for device work.
    write_sync(on_event ? "Event Sync" : "Stream Sync", call, time, -1);
  }

  /// Calls that the log knows only the order of.
  void write_untimed(const Call& call) {
    if (call.implicit) return;  // no call of the program's
    ++correlation_;
    if (call.type == CallType::kRecord) note_record(call);
    if (!in_window() || activities_) return;  // activities have such calls, and their times
    const Interval time{host_time_, host_time_};
    switch (call.type) {
      case CallType::kRecord:
        return write_call("cuda_runtime", "cudaEventRecord", time);
      case CallType::kWait:
        write_call("cuda_runtime", "cudaStreamWaitEvent", time);
        if (call.target.sequence != 0) {
          write_sync("Stream Wait Event", call, time, rows_.stream(call.at.stream, 0).thread);
        }
        return;
      case CallType::kSeen:
        return write_call("cuda_runtime", "cudaEventQuery", time);
      case CallType::kSignal:
        return write_call("cuda_driver", "cuStreamWriteValue64", time);
      case CallType::kWaitFlag:
        return write_call("cuda_driver", "cuStreamWaitValue64", time);
      default:
        throw InvalidTimelineError("a call names an operation that is not there");
    }
  }

  // -- device rows -------------------------------------------------------------------------------

  void write_node(const Operation& launch, const Operation& node) {
    if (node.graph.id >= t_.graphs.size() || node.node >= t_.graphs[node.graph.id].nodes.size()) {
      throw InvalidTimelineError(fmt::format("'{}' is no node of a graph", node.name));
    }
    const auto& info = t_.graphs[node.graph.id].nodes[node.node];
    if (info.type == NodeType::kSignal || info.type == NodeType::kWaitFlag) return;
    write_device_slice(launch, node, node.kind_in_graph, info.lane);
  }

  void write_device_slice(const Operation& launch, const Operation& op, OperationKind kind,
                          std::uint16_t lane) {
    start_flow(launch);
    const TraceRow row = rows_.stream(op.stream, lane);
    const Interval time{op.start, op.end};
    if (is_copy(kind)) {
      const std::uint64_t rate = milli_gbps(op.bytes, time);
      events_.slice("gpu_memcpy", copy_name(kind, touches_pageable(op)), row, time,
                    "\"External id\": {}, \"operation\": {}, \"device\": {}, \"context\": 1, "
                    "\"stream\": {}, \"correlation\": {}, \"bytes\": {}, "
                    "\"memory bandwidth (GB/s)\": {}.{:03}",
                    external_id(), events_.quoted(op.name), row.process, row.thread, correlation_,
                    op.bytes, rate / 1000, rate % 1000);
    } else if (op.kind == OperationKind::kGraphNode) {
      events_.slice("kernel", op.name, row, time,
                    "\"External id\": {}, \"queued\": 0, \"device\": {}, \"context\": 1, "
                    "\"stream\": {}, \"correlation\": {}, \"graph id\": {}, \"graph node id\": {}",
                    external_id(), row.process, row.thread, correlation_, op.graph.id, op.node);
    } else {
      events_.slice("kernel", op.name, row, time,
                    "\"External id\": {}, \"queued\": 0, \"device\": {}, \"context\": 1, "
                    "\"stream\": {}, \"correlation\": {}",
                    external_id(), row.process, row.thread, correlation_);
    }
    events_.flow_end(correlation_, row, op.start);
  }

  void write_sync(runtime::Name name, const Call& call, const Interval& time, std::int64_t stream) {
    const TraceRow row = rows_.sync(host_);
    events_.slice("cuda_sync", name, row, time,
                  "\"External id\": {}, \"wait_on_stream\": {}, "
                  "\"wait_on_cuda_event_record_corr_id\": {}, \"wait_on_cuda_event_id\": {}, "
                  "\"device\": {}, \"context\": 1, \"stream\": {}, \"correlation\": {}",
                  external_id(), rows_.stream(call.target.stream, 0).thread, record_of(call),
                  call.event ? static_cast<std::int64_t>(call.event.id) : -1, row.process, stream,
                  correlation_);
  }

  bool touches_pageable(const Operation& op) const {
    return std::ranges::any_of(t_.accesses_of(op), [this](const runtime::Access& access) {
      return access.buffer.id < t_.buffers.size() &&
             t_.buffers[access.buffer.id].memory == Memory::kPageable;
    });
  }

  // -- which record an event stands for ---------------------------------------------------------

  void note_record(const Call& call) {
    if (!call.event) return;
    if (call.event.id >= records_.size()) records_.resize(call.event.id + 1, kUnknownCorrelation);
    records_[call.event.id] =
        in_window() ? static_cast<std::int64_t>(correlation_) : kUnknownCorrelation;
  }
  std::int64_t record_of(const Call& call) const {
    return call.event.id < records_.size() ? records_[call.event.id] : kUnknownCorrelation;
  }

  // -- places -----------------------------------------------------------------------------------

  bool in_window() const { return options_.window.contains(step_); }
  /// Joins what belongs to one step; 0, as in Kineto, is none.
  std::int32_t external_id() const { return step_ + 1; }

  const Timeline& t_;
  const TraceOptions& options_;
  TraceEvents events_;
  TraceRows rows_;
  std::optional<TraceActivities> activities_;
  Interval written_{INT64_MAX, 0};     // the host time that the window's operations took
  std::vector<std::int64_t> records_;  // by event: the correlation of its newest record

  // Where the walk is.
  std::size_t next_ = 0;
  std::uint16_t host_ = 0;
  std::int32_t step_ = kNoStep;
  std::int32_t newest_step_ = kNoStep;
  Nanos host_time_ = 0;
  std::uint64_t correlation_ = 0;
  bool flow_started_ = false;
};

}  // namespace

void write_trace(const Timeline& timeline, const std::filesystem::path& file,
                 const TraceOptions& options) {
  if (timeline.detail != runtime::Detail::kAll) {
    throw InvalidTimelineError("the run was not logged: a trace needs the calls");
  }
  TraceWriter(timeline, file, options).write();
}

}  // namespace syncopate::analysis
