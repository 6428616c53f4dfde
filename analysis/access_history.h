// Who touched which buffer, thread by thread: the part of the race checker that compares accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/races.h"
#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// A thread of execution: work of one thread runs in order. Hosts, streams and further graph lanes.
using Thread = std::uint32_t;

/// Counts a thread's operations that touch memory, from 1. A vector clock holds one tick a thread:
/// all work of that thread up to the tick has ended.
using Tick = std::uint32_t;

/// Remembers accesses and finds those that race with them. Operations must be visited in an order
/// that fits happens-before; each thread's with growing ticks.
class AccessHistory {
 public:
  explicit AccessHistory(const runtime::Timeline& timeline);

  /// Adds an operation (an index) of `thread`, which runs when all that `clock` holds has ended.
  void visit(std::uint32_t operation, Thread thread, Tick tick, const Tick* clock);

  std::vector<Race> take_races() { return std::move(races_); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// The hull of all ranges seen, which rules most pairs out at once.
  struct Hull {
    std::uint64_t begin = UINT64_MAX;
    std::uint64_t end = 0;

    void add(const runtime::Access& access) {
      begin = access.begin < begin ? access.begin : begin;
      end = access.end > end ? access.end : end;
    }
    bool overlaps(const runtime::Access& access) const {
      return begin < access.end && access.begin < end;
    }
  };

  /// What one thread did to one buffer. If its latest read and write are in an access's clock, so
  /// are all before them, and nothing needs to be searched.
  struct Use {
    Thread thread = 0;
    Tick last_read = 0;
    Tick last_write = 0;
    std::uint32_t newest = kNone;  // into visits_
    Hull reads;
    Hull writes;
  };

  /// One operation's use of one buffer, linked to the same thread's use before it.
  struct Visit {
    std::uint32_t operation;
    Tick tick;
    std::uint32_t previous;
  };

  Use& use_of(std::vector<Use>& uses, Thread thread);
  void compare(const std::vector<Use>& uses, const runtime::Access& access, std::uint32_t operation,
               Thread thread, const Tick* clock);
  void search(const Use& use, const runtime::Access& access, std::uint32_t operation, Tick seen);
  void report(const runtime::Access& earlier, std::uint32_t earlier_operation,
              const runtime::Access& later, std::uint32_t later_operation,
              const runtime::ByteRange& bytes);

  const runtime::Timeline& timeline_;
  std::vector<std::vector<Use>> uses_;  // by buffer
  runtime::Log<Visit> visits_;
  std::vector<Race> races_;
  std::size_t first_race_ = 0;  // of the operation being visited
};

}  // namespace syncopate::analysis
