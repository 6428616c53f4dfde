// The rows of a trace: one for each host, each stream, and what was waited for on each device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "analysis/trace_events.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// Hands out rows, and names each in the trace when it is first asked for.
class TraceRows {
 public:
  /// Both outlive the rows. `process`: TraceOptions::process.
  TraceRows(const runtime::Timeline& timeline, TraceEvents& events, std::int64_t process);

  /// Names the processes and the hosts' rows, which stand whether anything is in them or not.
  void begin();

  std::size_t devices() const { return devices_; }
  TraceRow host(std::uint16_t host) const { return {process_, process_ + host}; }
  /// Of a stream, or of a further lane of graphs launched in it.
  TraceRow stream(runtime::Stream stream, std::uint16_t lane);
  /// Of a stream that is not the program's.
  TraceRow native_stream(std::uint16_t device, std::uint32_t number);
  TraceRow sync(std::uint16_t device);

 private:
  const runtime::Timeline& t_;
  TraceEvents& events_;
  std::size_t lanes_ = 1;
  std::size_t devices_ = 1;
  std::int64_t process_ = 0;
  std::vector<bool> stream_named_;  // by stream and lane
  std::vector<bool> sync_named_;    // by device
  std::unordered_set<std::uint64_t> native_named_;
};

}  // namespace syncopate::analysis
