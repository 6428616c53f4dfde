#include "analysis/trace_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/error.h"

namespace syncopate::analysis {
namespace {

constexpr std::int64_t kSyncRow = 1;
constexpr std::int64_t kDefaultStreamRow = 7;
constexpr std::int64_t kFirstStreamRow = 13;
constexpr std::int64_t kDeviceSortIndex = 5'000'000;  // below all hosts

}  // namespace

TraceRows::TraceRows(const runtime::Timeline& timeline, TraceEvents& events, std::int64_t process)
    : t_(timeline), events_(events) {
  for (const auto& graph : t_.graphs) {
    for (const auto& node : graph.nodes) lanes_ = std::max<std::size_t>(lanes_, node.lane + 1U);
  }
  for (const auto& stream : t_.streams) {
    devices_ = std::max<std::size_t>(devices_, stream.device + 1U);
  }
  process_ = std::max(process, static_cast<std::int64_t>(devices_));
  stream_named_.resize(t_.streams.size() * lanes_);
  sync_named_.resize(devices_);
}

void TraceRows::begin() {
  events_.process(process_, "syncopate", "CPU", process_);
  for (std::uint16_t number = 0; number < t_.hosts; ++number) {
    events_.thread(host(number), fmt::format("host {}", number));
  }
  for (std::size_t device = 0; device < devices_; ++device) {
    const auto pid = static_cast<std::int64_t>(device);
    events_.process(pid, "syncopate", fmt::format("GPU {}", device), kDeviceSortIndex + pid);
  }
}

TraceRow TraceRows::stream(runtime::Stream stream, std::uint16_t lane) {
  if (stream.id >= t_.streams.size()) {
    throw InvalidTimelineError("a call or operation names a stream that is not there");
  }
  const runtime::StreamInfo& info = t_.streams[stream.id];
  TraceRow row{info.device, kFirstStreamRow + stream.id};
  if (info.kind == runtime::StreamKind::kLegacyDefault) row.thread = kDefaultStreamRow;
  const std::size_t place = stream.id * lanes_ + lane;
  if (lane > 0) {
    row.thread = kFirstStreamRow + static_cast<std::int64_t>(t_.streams.size() + place);
  }
  if (!stream_named_[place]) {
    stream_named_[place] = true;
    events_.thread(row, fmt::format("stream {} {}{}", row.thread, info.label,
                                    lane > 0 ? fmt::format(", lane {}", lane) : ""));
  }
  return row;
}

TraceRow TraceRows::native_stream(std::uint16_t device, std::uint32_t number) {
  const auto first = kFirstStreamRow + static_cast<std::int64_t>(t_.streams.size() * (lanes_ + 1));
  const TraceRow row{device, first + number};
  if (native_named_.insert(std::uint64_t{device} << 32 | number).second) {
    events_.thread(row, fmt::format("stream {} of CUDA's own", row.thread));
  }
  return row;
}

TraceRow TraceRows::sync(std::uint16_t device) {
  const TraceRow row{device, kSyncRow};
  if (device < devices_ && !sync_named_[device]) {
    sync_named_[device] = true;
    events_.thread(row, "synchronization");
  }
  return row;
}

}  // namespace syncopate::analysis
