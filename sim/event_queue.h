// The pending set: a 4-ary heap of 16-byte records in the order of (time, sequence), so that events
// of one time come out in the order in which they were put in.
//
// A simulator mostly takes an event and puts in another one soon after. So pop() only leaves a hole
// at the root: the next push() drops its event into it and sifts once, where a pop and a push would
// sift twice. The four children of a node share a cache line, the least of them is chosen without
// branches, and records of infinite time stand behind the last one so that no child is missing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "backend/runtime/handles.h"

namespace syncopate::sim {

/// What an event is about: a number below 2^24 that the queue hands back.
inline constexpr int kPayloadBits = 24;

struct QueuedEvent {
  runtime::Nanos time;
  std::uint64_t order;  ///< Sequence, then payload: the payload never decides.

  std::uint32_t payload() const {
    return static_cast<std::uint32_t>(order & ((std::uint64_t{1} << kPayloadBits) - 1));
  }
};

/// Not thread-safe. Allocates only when more events are pending than ever before.
class EventQueue {
 public:
  explicit EventQueue(std::size_t capacity = 64) { grow(capacity); }

  bool empty() const { return size_ == hole_; }
  std::size_t size() const { return size_ - hole_; }

  /// Times are >= 0; at most 2^40 events in a queue's life.
  void push(runtime::Nanos time, std::uint32_t payload) {
    const QueuedEvent event{time, sequence_++ << kPayloadBits | payload};
    if (hole_ != 0) {
      hole_ = 0;
      sift_down(event);
      return;
    }
    if (size_ == capacity_) grow(2 * capacity_);
    sift_up(size_++, event);
  }

  /// The least event. The queue must not be empty; the same for pop().
  const QueuedEvent& top() {
    fill_hole();
    return events_[0];
  }

  void pop() {
    fill_hole();
    hole_ = 1;
  }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::size_t kLine = kArity * sizeof(QueuedEvent);
  static constexpr QueuedEvent kInfinite{std::numeric_limits<runtime::Nanos>::max(),
                                         std::numeric_limits<std::uint64_t>::max()};

  struct Deleter {
    void operator()(QueuedEvent* memory) const {
      ::operator delete(memory, std::align_val_t{kLine});
    }
  };

  // Bitwise operators: both sides are cheap, a mispredicted branch is not.
  static bool before(const QueuedEvent& a, const QueuedEvent& b) {
    return (a.time < b.time) | ((a.time == b.time) & (a.order < b.order));
  }

  void fill_hole() {
    if (hole_ == 0) return;
    hole_ = 0;
    const QueuedEvent last = events_[--size_];
    events_[size_] = kInfinite;
    if (size_ > 0) sift_down(last);
  }

  void sift_up(std::size_t at, const QueuedEvent& event) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!before(event, events_[parent])) break;
      events_[at] = events_[parent];
      at = parent;
    }
    events_[at] = event;
  }

  // Moves the root's hole down to where `event` belongs.
  void sift_down(const QueuedEvent& event) {
    std::size_t at = 0;
    for (std::size_t child = 1; child < size_; child = kArity * at + 1) {
      const std::size_t left = child + (before(events_[child + 1], events_[child]) ? 1 : 0);
      const std::size_t right =
          child + 2 + (before(events_[child + 3], events_[child + 2]) ? 1 : 0);
      const std::size_t least = before(events_[right], events_[left]) ? right : left;
      if (!before(events_[least], event)) break;
      events_[at] = events_[least];
      at = least;
    }
    events_[at] = event;
  }

  void grow(std::size_t capacity) {
    // Three records before the root put its children, and with them all others, on a line's start.
    const std::size_t records = (kArity - 1) + capacity + kArity;
    std::unique_ptr<QueuedEvent, Deleter> memory(static_cast<QueuedEvent*>(
        ::operator new(records * sizeof(QueuedEvent), std::align_val_t{kLine})));
    QueuedEvent* events = memory.get() + (kArity - 1);
    std::uninitialized_fill(memory.get(), memory.get() + records, kInfinite);
    std::copy(events_, events_ + size_, events);
    memory_ = std::move(memory);
    events_ = events;
    capacity_ = capacity;
  }

  QueuedEvent* events_ = nullptr;
  std::size_t size_ = 0;  // with the hole
  std::size_t hole_ = 0;  // 1 when the root has been popped and not yet replaced
  std::size_t capacity_ = 0;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<QueuedEvent, Deleter> memory_;
};

}  // namespace syncopate::sim
