#include "analysis/access_history.h"

#include <algorithm>
#include <span>
#include <string>

#include "analysis/error.h"

namespace syncopate::analysis {

using runtime::Access;
using runtime::Operation;

AccessHistory::AccessHistory(const runtime::Timeline& timeline)
    : timeline_(timeline), uses_(timeline.buffers.size()) {
  visits_.reserve(2 * timeline.operations.size());
}

void AccessHistory::visit(std::uint32_t operation, Thread thread, Tick tick, const Tick* clock) {
  const Operation& op = timeline_.operations[operation];
  if (op.first_access > timeline_.accesses.size() ||
      op.access_count > timeline_.accesses.size() - op.first_access) {
    throw InvalidTimelineError("operation " + std::to_string(operation) + " '" + op.name +
                               "' has accesses past the end of the list");
  }
  first_race_ = races_.size();

  // An operation names a buffer's ranges one after the other: what is looked up for the first of
  // them serves them all, and the hulls stay in registers.
  const std::span<const Access> accesses = timeline_.accesses_of(op);
  for (auto access = accesses.begin(); access != accesses.end();) {
    const runtime::Buffer buffer = access->buffer;
    if (buffer.id >= uses_.size()) {
      throw InvalidTimelineError("operation " + std::to_string(operation) + " '" + op.name +
                                 "' touches buffer " + std::to_string(buffer.id) + " of " +
                                 std::to_string(uses_.size()));
    }
    std::vector<Use>& uses = uses_[buffer.id];
    Use& own = use_of(uses, thread);
    const auto first = access;
    Hull reads = own.reads;
    Hull writes = own.writes;
    bool reads_it = false;
    bool writes_it = false;
    for (; access != accesses.end() && access->buffer == buffer; ++access) {
      if (access->write) {
        writes.add(*access);
        writes_it = true;
      } else {
        reads.add(*access);
        reads_it = true;
      }
    }
    if (uses.size() > 1) {
      for (auto each = first; each != access; ++each) {
        compare(uses, *each, operation, thread, clock);
      }
    }
    if (std::max(own.last_read, own.last_write) != tick) {
      visits_.push_back({operation, tick, own.newest});
      own.newest = static_cast<std::uint32_t>(visits_.size() - 1);
    }
    own.reads = reads;
    own.writes = writes;
    if (reads_it) own.last_read = tick;
    if (writes_it) own.last_write = tick;
  }
}

AccessHistory::Use& AccessHistory::use_of(std::vector<Use>& uses, Thread thread) {
  for (Use& use : uses) {
    if (use.thread == thread) return use;
  }
  uses.emplace_back().thread = thread;
  return uses.back();
}

void AccessHistory::compare(const std::vector<Use>& uses, const Access& access,
                            std::uint32_t operation, Thread thread, const Tick* clock) {
  for (const Use& use : uses) {
    const Tick latest = access.write ? std::max(use.last_read, use.last_write) : use.last_write;
    if (latest > clock[use.thread] && use.thread != thread) {
      search(use, access, operation, clock[use.thread]);
    }
  }
}

void AccessHistory::search(const Use& use, const Access& access, std::uint32_t operation,
                           Tick seen) {
  if (access.begin >= access.end) return;
  bool find_write = use.last_write > seen && use.writes.overlaps(access);
  bool find_read = access.write && use.last_read > seen && use.reads.overlaps(access);
  for (std::uint32_t i = use.newest; i != kNone && (find_write || find_read);
       i = visits_[i].previous) {
    const Visit& visit = visits_[i];
    if (visit.tick <= seen) return;
    for (const Access& earlier : timeline_.accesses_of(timeline_.operations[visit.operation])) {
      bool& wanted = earlier.write ? find_write : find_read;
      if (!wanted) continue;
      if (const auto bytes = runtime::overlap(earlier, access)) {
        report(earlier, visit.operation, access, operation, *bytes);
        wanted = false;
      }
    }
  }
}

void AccessHistory::report(const Access& earlier, std::uint32_t earlier_operation,
                           const Access& later, std::uint32_t later_operation,
                           const runtime::ByteRange& bytes) {
  const Hazard hazard = !later.write    ? Hazard::kReadAfterWrite
                        : earlier.write ? Hazard::kWriteAfterWrite
                                        : Hazard::kWriteAfterRead;
  for (std::size_t i = first_race_; i < races_.size(); ++i) {
    Race& race = races_[i];
    if (race.earlier == earlier_operation && race.buffer == later.buffer && race.hazard == hazard) {
      ++race.ranges;
      return;
    }
  }
  Race& race = races_.emplace_back();
  race.hazard = hazard;
  race.earlier = earlier_operation;
  race.later = later_operation;
  race.buffer = later.buffer;
  race.begin = bytes.begin;
  race.end = bytes.end;
}

}  // namespace syncopate::analysis
