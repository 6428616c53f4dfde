#include "analysis/critical_path.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/error.h"
#include "analysis/operations.h"

namespace syncopate::analysis {
namespace {

using runtime::Call;
using runtime::CallType;
using runtime::Nanos;
using runtime::NodeType;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Position;

constexpr std::uint32_t kNone = UINT32_MAX;

class PathFinder {
 public:
  explicit PathFinder(const runtime::Timeline& timeline);

  std::vector<PathSegment> find();

 private:
  /// What something came after: an operation of a device and its end.
  struct Bound {
    std::uint32_t operation = kNone;
    Nanos end = 0;
  };

  void note(std::uint32_t call);
  void note_signals(const Call& call);
  /// The last to end of what must be done for `position` to be reached.
  Bound bound(Position position);
  Bound bound_of_command(const Call& command);
  Position signal_of(runtime::Flag flag, std::uint64_t value) const;
  void later(Bound& best, const Bound& other) const {
    if (other.operation != kNone && (best.operation == kNone || other.end > best.end)) best = other;
  }

  /// Whether its call came back when it was done: a copy with pageable memory.
  bool held_its_host(std::uint32_t operation) const {
    const Position at = position_of_[operation];
    return held_host_.contains({at.stream.id, at.sequence});
  }
  std::uint32_t last_operation() const;
  /// Adds a segment that ends where the path stands, and moves it to the segment's begin.
  void go_back(PathUse use, std::uint32_t operation, Nanos begin);
  /// The path stands at the end of a device operation; to its end of what it waited for.
  void through_device(std::uint32_t operation);
  /// The path stands at the time when `host` was about to do its piece `piece`.
  void through_host(std::uint16_t host, std::size_t piece);

  const runtime::Timeline& t_;
  std::vector<std::vector<std::uint32_t>> commands_;  // by stream and position - 1: calls
  std::vector<std::vector<std::uint32_t>> pieces_;    // by host: its operations, in order
  std::vector<std::uint32_t> piece_of_;               // by operation: its place among them
  std::vector<Position> position_of_;                 // by operation of a device
  std::vector<const Call*> block_of_;                 // by operation that blocked the host
  std::map<std::pair<std::uint32_t, std::uint64_t>, Position> signals_;  // by flag and value
  std::set<std::pair<std::uint32_t, std::uint64_t>> held_host_;          // by stream and sequence
  std::vector<std::vector<Bound>> known_;  // by stream and position: bound() of it
  std::vector<std::vector<bool>> is_known_;

  // Where the path stands: in a device operation, or before a piece of a host.
  Nanos now_ = 0;
  std::uint32_t device_ = kNone;
  std::uint16_t host_ = 0;
  std::size_t piece_ = 0;
  std::vector<PathSegment> path_;  // backwards
};

PathFinder::PathFinder(const runtime::Timeline& timeline)
    : t_(timeline),
      commands_(timeline.streams.size()),
      pieces_(timeline.hosts),
      piece_of_(timeline.operations.size(), kNone),
      position_of_(timeline.operations.size()),
      block_of_(timeline.operations.size(), nullptr),
      known_(timeline.streams.size()),
      is_known_(timeline.streams.size()) {
  if (timeline.detail != runtime::Detail::kAll) {
    throw InvalidTimelineError("the timeline holds times only: record the run with all detail");
  }
  for (std::uint32_t i = 0; i < t_.operations.size(); ++i) {
    const Operation& op = t_.operations[i];
    if (op.kind == OperationKind::kGraphNode) continue;
    if (op.host >= pieces_.size()) {
      throw InvalidTimelineError("operation " + std::to_string(i) + " is of no host");
    }
    piece_of_[i] = static_cast<std::uint32_t>(pieces_[op.host].size());
    pieces_[op.host].push_back(i);
  }
  for (std::uint32_t i = 0; i < t_.calls.size(); ++i) note(i);
  for (std::size_t stream = 0; stream < commands_.size(); ++stream) {
    known_[stream].resize(commands_[stream].size() + 1);
    is_known_[stream].resize(commands_[stream].size() + 1, false);
  }
}

void PathFinder::note(std::uint32_t index) {
  const Call& call = t_.calls[index];
  const bool has_operation = call.operation != kNone;
  if (has_operation && call.operation >= t_.operations.size()) {
    throw InvalidTimelineError("a call names an operation that is not there");
  }
  if (call.type == CallType::kBlock || call.type == CallType::kBlockFlag) {
    if (has_operation) block_of_[call.operation] = &call;
    if (call.implicit) held_host_.insert({call.target.stream.id, call.target.sequence});
  }
  const bool in_stream = call.type == CallType::kEnqueue || call.type == CallType::kSignal ||
                         call.type == CallType::kWaitFlag ||
                         (call.type == CallType::kWait && call.target.sequence != 0);
  if (!in_stream) return;
  if (call.at.stream.id >= commands_.size()) {
    throw InvalidTimelineError("a call names a stream that is not there");
  }
  std::vector<std::uint32_t>& stream = commands_[call.at.stream.id];
  if (call.at.sequence != stream.size() + 1) {
    throw InvalidTimelineError("command " + std::to_string(call.at.sequence) + " of stream '" +
                               t_.streams[call.at.stream.id].label + "' stands where command " +
                               std::to_string(stream.size() + 1) + " is due");
  }
  stream.push_back(index);
  note_signals(call);
  if (call.type == CallType::kEnqueue) position_of_[call.operation] = call.at;
}

// A graph's signals count as done when all of it is.
void PathFinder::note_signals(const Call& call) {
  if (call.type == CallType::kSignal) signals_.try_emplace({call.flag.id, call.value}, call.at);
  if (call.type != CallType::kEnqueue) return;
  const Operation& op = t_.operations[call.operation];
  if (op.kind != OperationKind::kGraph || op.graph.id >= t_.graphs.size()) return;
  for (const runtime::GraphNodeInfo& node : t_.graphs[op.graph.id].nodes) {
    if (node.type == NodeType::kSignal && node.cycle == 0) {
      signals_.try_emplace({node.flag.id, node.value}, call.at);
    }
  }
}

Position PathFinder::signal_of(runtime::Flag flag, std::uint64_t value) const {
  const auto found = signals_.lower_bound({flag.id, value});
  if (value == 0 || found == signals_.end() || found->first.first != flag.id) return {};
  return found->second;
}

PathFinder::Bound PathFinder::bound_of_command(const Call& command) {
  switch (command.type) {
    case CallType::kEnqueue: {
      const Operation& op = t_.operations[command.operation];
      return has_times(op) ? Bound{command.operation, op.end} : Bound{};
    }
    case CallType::kWait:
      return bound(command.target);
    case CallType::kWaitFlag:
      return bound(signal_of(command.flag, command.value));
    default:
      return {};
  }
}

// Commands of a stream end in their order, so nothing before an operation matters behind it.
PathFinder::Bound PathFinder::bound(Position position) {
  if (position.sequence == 0) return {};
  const std::uint32_t stream = position.stream.id;
  if (stream >= commands_.size() || position.sequence > commands_[stream].size()) {
    throw InvalidTimelineError("a wait is for a command that is not there");
  }
  if (is_known_[stream][position.sequence]) return known_[stream][position.sequence];
  is_known_[stream][position.sequence] = true;  // of a circle nothing is known
  Bound best;
  for (std::uint64_t at = position.sequence; at > 0; --at) {
    const Call& command = t_.calls[commands_[stream][at - 1]];
    later(best, bound_of_command(command));
    if (command.type == CallType::kEnqueue) break;
  }
  return known_[stream][position.sequence] = best;
}

std::uint32_t PathFinder::last_operation() const {
  std::uint32_t last = kNone;
  for (std::uint32_t i = 0; i < t_.operations.size(); ++i) {
    const Operation& op = t_.operations[i];
    if (op.kind == OperationKind::kGraphNode || !has_times(op)) continue;
    if (last == kNone || op.end > t_.operations[last].end) last = i;
  }
  return last;
}

void PathFinder::go_back(PathUse use, std::uint32_t operation, Nanos begin) {
  begin = std::clamp<Nanos>(begin, 0, now_);
  if (begin < now_) path_.push_back({use, operation, begin, now_});
  now_ = begin;
}

void PathFinder::through_device(std::uint32_t index) {
  const Operation& op = t_.operations[index];
  go_back(PathUse::kDevice, index, op.start);
  const Position at = position_of_[index];
  const Bound after = at.sequence > 1 ? bound({at.stream, at.sequence - 1}) : Bound{};
  const Nanos called = held_its_host(index) ? op.issue_begin : op.issue_end;
  const bool waited = after.operation != kNone && after.end > called;
  if (waited) {
    go_back(PathUse::kGap, index, after.end);
    device_ = after.operation;
    return;
  }
  device_ = kNone;
  host_ = op.host;
  if (held_its_host(index)) {
    go_back(PathUse::kLaunch, index, op.issue_begin);
    piece_ = piece_of_[index];
  } else {
    go_back(PathUse::kLaunch, index, op.issue_end);
    piece_ = piece_of_[index] + std::size_t{1};  // its call is the one before
  }
}

void PathFinder::through_host(std::uint16_t host, std::size_t piece) {
  if (piece == 0) return go_back(PathUse::kHost, kNone, 0);
  const std::uint32_t index = pieces_[host][piece - 1];
  const Operation& op = t_.operations[index];
  const bool own = is_host_kind(op.kind);
  const Nanos begin = own ? op.start : op.issue_begin;
  const Nanos end = own ? op.end : op.issue_end;
  piece_ = piece - 1;
  if (own && !has_times(op)) return;
  const std::uint32_t behind = piece < pieces_[host].size() ? pieces_[host][piece] : index;
  go_back(PathUse::kHost, behind, end);
  if (const Call* block = block_of_[index]) {
    const Bound held = block->type == CallType::kBlockFlag
                           ? bound(signal_of(block->flag, block->value))
                           : bound(block->target);
    if (held.operation != kNone && held.end > begin && held.end <= now_) {
      go_back(PathUse::kWake, index, held.end);
      device_ = held.operation;
      return;
    }
  }
  if (!own && held_its_host(index) && has_times(op) && op.end <= now_) {
    go_back(PathUse::kWake, index, op.end);
    device_ = index;
    return;
  }
  go_back(op.kind == OperationKind::kHostSpan ? PathUse::kHostSpan : PathUse::kCall, index, begin);
}

std::vector<PathSegment> PathFinder::find() {
  const std::uint32_t last = last_operation();
  if (last == kNone) return {};
  const Operation& op = t_.operations[last];
  now_ = op.end;
  if (is_host_kind(op.kind)) {
    host_ = op.host;
    piece_ = piece_of_[last] + std::size_t{1};
  } else {
    device_ = last;
  }
  while (now_ > 0) {
    if (device_ != kNone) {
      through_device(device_);
    } else {
      through_host(host_, piece_);
    }
  }
  std::ranges::reverse(path_);
  return std::move(path_);
}

}  // namespace

const char* to_string(PathUse use) {
  switch (use) {
    case PathUse::kDevice:
      return "device";
    case PathUse::kHostSpan:
      return "host span";
    case PathUse::kCall:
      return "call";
    case PathUse::kHost:
      return "host";
    case PathUse::kLaunch:
      return "launch";
    case PathUse::kGap:
      return "gap";
    case PathUse::kWake:
      return "wake";
  }
  return "";
}

std::vector<PathSegment> critical_path(const runtime::Timeline& timeline) {
  return PathFinder(timeline).find();
}

std::vector<PathShare> path_shares(const runtime::Timeline& timeline,
                                   const std::vector<PathSegment>& path) {
  std::map<std::tuple<PathUse, std::string_view, OperationKind>, PathShare> shares;
  for (const PathSegment& segment : path) {
    const bool named = segment.use != PathUse::kHost;
    const Operation* op = named ? &timeline.operations[segment.operation] : nullptr;
    const std::string_view name = named ? op->name : "";
    const OperationKind kind = named ? op->kind : OperationKind::kHostSpan;
    PathShare& share = shares[{segment.use, name, kind}];
    share.use = segment.use;
    share.kind = kind;
    share.name = name;
    ++share.count;
    share.total += segment.end - segment.begin;
  }
  std::vector<PathShare> out;
  out.reserve(shares.size());
  for (auto& [key, share] : shares) out.push_back(std::move(share));
  std::ranges::stable_sort(out, std::ranges::greater(), &PathShare::total);
  return out;
}

}  // namespace syncopate::analysis
