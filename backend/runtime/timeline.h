// The timeline: what a run left behind, in one form for every runtime. Operations carry times and
// feed metrics and figures; calls carry order and feed the happens-before checker.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/runtime/activity.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/log.h"
#include "backend/runtime/memory.h"

namespace syncopate::runtime {

enum class OperationKind : std::uint8_t {
  kKernel,
  kCopyH2D,
  kCopyD2H,
  kCopyD2D,
  kCopyPeer,
  kGraph,      ///< A whole graph launch; its nodes follow it directly in the list.
  kGraphNode,  ///< Part of the nearest kGraph before it; `kind_in_graph` says what it is.
  kHostSpan,   ///< Work of the host itself, on the host's own row.
  kHostBlock,  ///< The host blocked on an event, a stream or a flag.
};

/// One thing that took time. Device operations have a stream; host ones have none.
/// Times are in nanoseconds of the run's clock; kUnknownTime where a runtime cannot see one (the
/// nodes of a CUDA graph in an untraced run).
inline constexpr Nanos kUnknownTime = -1;
inline constexpr std::int32_t kNoStep = -1;
struct Operation {
  Name name = "";
  OperationKind kind = OperationKind::kKernel;
  OperationKind kind_in_graph = OperationKind::kKernel;
  std::uint16_t host = 0;
  std::uint16_t node = 0;          ///< kGraphNode: index in the graph's script.
  Stream stream;                   ///< The stream it ran in; for a node the launching stream.
  std::int32_t step = kNoStep;     ///< The program's step, kNoStep outside of any.
  Graph graph;                     ///< kGraph and kGraphNode.
  std::uint32_t first_access = 0;  ///< Index into Timeline::accesses; recorded with Detail::kAll.
  std::uint32_t access_count = 0;
  std::uint64_t bytes = 0;     ///< Copies: bytes moved.
  Nanos issue_begin = 0;       ///< When the host made the call …
  Nanos issue_end = 0;         ///< … and had control back.
  Nanos start = kUnknownTime;  ///< When it began on the device (or host, for host kinds) …
  Nanos end = kUnknownTime;    ///< … and ended.
};

enum class CallType : std::uint8_t {
  kEnqueue,    ///< `operation` entered `at.stream` as command `at.sequence`.
  kRecord,     ///< `event` now stands for position `at`.
  kWait,       ///< Command `at` of its stream holds it until position `target` is reached. A wait
               ///< on a never-recorded event has target.sequence 0: no order.
  kSignal,     ///< Command `at` sets `flag` to `value` once all before it in its stream is done.
  kWaitFlag,   ///< Command `at` holds its stream until `flag` is at least `value`.
  kBlock,      ///< The host blocked until `target` was reached.
  kSeen,       ///< A query told the host that `target` is reached.
  kSpan,       ///< `operation` (a host span) ran on the host.
  kBlockFlag,  ///< The host blocked until `flag` was at least `value`.
};

/// One entry of a host's call log, in the order of the host's program. Enough, with the graphs'
/// scripts and the accesses, to decide which operations are ordered: no time is needed.
struct Call {
  CallType type = CallType::kEnqueue;
  bool implicit = false;  ///< Made by a rule (legacy default stream, pageable copy), not
                          ///< written in the program.
  std::uint16_t host = 0;
  /// kEnqueue, kSpan, kBlock, kBlockFlag: index into operations.
  std::uint32_t operation = UINT32_MAX;
  Site site = "";  ///< Of all but kEnqueue and kSpan.
  Position at;
  Position target;
  Event event;
  Flag flag;
  std::uint64_t value = 0;
};

/// One node of a captured graph. `lane` numbers the captured streams from 0, the capture's origin.
/// `after` lists nodes (indices below this one) that must end before this one starts; the node
/// before it in its lane is among them. Signals and waits by value are nodes too: in the n-th
/// launch of the graph, counted from 0, they are about `value` + n * `cycle`.
enum class NodeType : std::uint8_t { kKernel, kCopy, kSignal, kWaitFlag };
struct GraphNodeInfo {
  Name name = "";
  NodeType type = NodeType::kKernel;
  OperationKind kind = OperationKind::kKernel;
  std::uint16_t lane = 0;
  Flag flag;
  std::uint64_t value = 0;
  std::uint64_t cycle = 0;
  std::vector<std::uint16_t> after;
};

struct GraphInfo {
  std::string label;
  std::vector<GraphNodeInfo> nodes;
};
struct StreamInfo {
  std::string label;
  StreamKind kind = StreamKind::kNonBlocking;
  std::uint16_t device = 0;
};
struct BufferInfo {
  std::string label;
  Memory memory = Memory::kDevice;
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;
};

/// How much a run records. Both keep every operation's times.
enum class Detail : std::uint8_t {
  kTimes,  ///< Operations only, without accesses and graph nodes: what metrics need.
  kAll,    ///< Also calls, accesses and graph nodes: what the checker and traces need.
};

/// What the runtime's own profiler saw, in the order of attach_activities().
struct Activities {
  Log<Activity> records;
  std::uint64_t dropped = 0;  ///< Records for which there was no room.
};

/// Plain data, owned by value; not thread-safe.
struct Timeline {
  Detail detail = Detail::kAll;
  Log<Operation> operations;  ///< Grouped by host, in each host's program order.
  Log<Call> calls;            ///< Likewise.
  Log<Access> accesses;
  std::optional<Activities> activities;  ///< Only of runs that were asked to record them.
  std::vector<StreamInfo> streams;       ///< Indexed by Stream::id; so on below.
  std::vector<BufferInfo> buffers;
  std::vector<GraphInfo> graphs;
  std::uint16_t hosts = 1;
  Nanos end = 0;  ///< When the last host returned and all work was done.

  std::span<const Access> accesses_of(const Operation& op) const {
    return std::span(accesses).subspan(op.first_access, op.access_count);
  }
  /// Keeps a copy of `text` and returns a Name for it that lives as long as this timeline.
  Name intern(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

 private:
  std::deque<std::string> texts_;  // stable addresses
};

}  // namespace syncopate::runtime
