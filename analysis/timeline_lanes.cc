#include "analysis/timeline_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analysis/error.h"

namespace syncopate::analysis {

using runtime::Operation;
using runtime::OperationKind;
using runtime::Timeline;

namespace {

Mark mark_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kHostSpan:
      return Mark::kSpan;
    case OperationKind::kHostBlock:
      return Mark::kBlock;
    case OperationKind::kCopyH2D:
      return Mark::kH2d;
    case OperationKind::kCopyD2H:
      return Mark::kD2h;
    case OperationKind::kCopyD2D:
    case OperationKind::kCopyPeer:
      return Mark::kCopy;
    case OperationKind::kKernel:
    case OperationKind::kGraph:
    case OperationKind::kGraphNode:
      return Mark::kCompute;
  }
  return Mark::kIdle;
}

}  // namespace

bool is_drawn(const Operation& op) {
  return op.kind != OperationKind::kGraphNode && op.start != runtime::kUnknownTime &&
         op.end >= op.start;
}

std::vector<Lane> lanes_of(const Timeline& timeline) {
  std::vector<Lane> hosts(timeline.hosts);
  std::vector<Lane> streams(timeline.streams.size());
  const auto label = [&](std::string_view name, std::uint16_t device) {
    return timeline.hosts > 1 ? fmt::format("{} {}", name, device) : std::string(name);
  };
  for (std::uint16_t h = 0; h < timeline.hosts; ++h) {
    hosts[h] = {label("host", h), h, Mark::kIdle, {}};
  }
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const runtime::StreamInfo& info = timeline.streams[s];
    streams[s].label = label(info.label, info.device);
    streams[s].device = info.device;
  }
  for (const Operation& op : timeline.operations) {
    if (!is_drawn(op)) continue;
    if (op.host >= hosts.size() || (op.stream && op.stream.id >= streams.size())) {
      throw InvalidTimelineError(
          fmt::format("operation '{}' names a host or a stream that is not there", op.name));
    }
    const Mark mark = mark_of(op.kind);
    if (!op.stream) {
      hosts[op.host].pieces.push_back({mark, op.step, op.start, op.end});
      continue;
    }
    Lane& lane = streams[op.stream.id];
    lane.first_mark = std::min(lane.first_mark, mark);
    lane.pieces.push_back({mark, op.step, op.start, op.end});
    if (op.issue_end > op.issue_begin) {
      hosts[op.host].pieces.push_back({Mark::kCall, op.step, op.issue_begin, op.issue_end});
    }
  }
  std::vector<Lane> lanes = std::move(hosts);
  for (Lane& lane : streams) {
    if (!lane.pieces.empty()) lanes.push_back(std::move(lane));
  }
  std::ranges::stable_sort(lanes, {},
                           [](const Lane& l) { return std::pair(l.device, l.first_mark); });
  return lanes;
}

}  // namespace syncopate::analysis
