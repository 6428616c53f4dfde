// What a runtime's own profiler recorded, in a trace: kernels and calls as PyTorch's profiler
// writes them, below the operations that they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/intervals.h"
#include "analysis/trace_events.h"
#include "analysis/trace_rows.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// Goes through a timeline's activities once, along with its operations.
class TraceActivities {
 public:
  /// All outlive it; the timeline has activities.
  TraceActivities(const runtime::Timeline& timeline, TraceEvents& events, TraceRows& rows);

  /// No record has a greater correlation id.
  std::uint32_t last_correlation() const { return last_correlation_; }

  /// Writes the operation at `index`, with what it is made of, as parts of step `external_id`. In
  /// the order of the operations. Does nothing and gives false when nothing of it was recorded.
  bool write_operation(std::size_t index, std::int32_t external_id);
  /// At the end: writes the records of no operation that began within `time`.
  void write_rest(const Interval& time);

 private:
  using Records = std::span<const runtime::Activity>;

  void write_records(Records records, const runtime::Operation* op, std::int32_t external_id);
  void write_work(const runtime::Activity& work, const runtime::Operation* op,
                  std::int32_t external_id);
  void write_sync(const runtime::Activity& sync, std::int32_t external_id);
  /// The captured node that the work belongs to, or null.
  const runtime::GraphNodeInfo* node_of(const runtime::Activity& work,
                                        const runtime::Operation* op) const;
  TraceRow row_of(const runtime::Activity& activity);

  const runtime::Timeline& t_;
  TraceEvents& events_;
  TraceRows& rows_;
  const Records records_;
  std::size_t next_ = 0;
  std::uint32_t last_correlation_ = 0;
};

}  // namespace syncopate::analysis
