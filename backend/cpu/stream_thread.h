// StreamThread: a stream, as a thread that runs a queue of actions in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "backend/cpu/action.h"
#include "backend/cpu/chaos.h"
#include "backend/cpu/clock.h"
#include "backend/cpu/counter.h"
#include "backend/cpu/failure.h"
#include "backend/cpu/waiter.h"
#include "backend/runtime/timeline.h"

namespace syncopate::cpu {

/// The queue is a ring for one producer, the host of the stream's device. It has no head and tail
/// that the two sides share: each slot says which command was last put into it and which was last
/// done from it. So command k is ordered after what the host did before it put k there, and after
/// nothing later, even when the host has run ahead; who waits for k is ordered after k, and after
/// nothing later, even when the stream has. A shared index would give the newest state of the other
/// side to whoever reads it, and hide missing edges from ThreadSanitizer.
///
/// The one edge that is the ring's own: the host puts command k after command k - capacity is done,
/// which is what a bounded launch queue promises.
class StreamThread {
 public:
  /// What all streams of an engine share. Outlives them.
  struct Shared {
    Failure& failure;
    const Clock& clock;
    const std::vector<std::byte*>& bases;  ///< By buffer id.
  };

  StreamThread(runtime::Stream id, std::uint32_t device, std::size_t capacity, Chaos chaos,
               const Shared& shared);
  /// The run must have stopped, or the queue be drained.
  ~StreamThread();
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;

  std::uint32_t device() const { return device_; }
  Waiter& waiter() { return waiter_; }

  // -- for the producer ----------------------------------------------------------------------

  /// Commands put so far.
  std::uint64_t enqueued() const { return enqueued_; }
  /// Puts `action` behind all others. Waits for room; returns false if the run stops meanwhile.
  bool enqueue(const Action& action, Waiter& host, Waiter::OnStop on_stop = Waiter::OnStop::kLeave);

  // -- for any thread ------------------------------------------------------------------------

  /// Done when command `sequence` (at least 1) is. Waiting for it orders the waiter after that
  /// command, unless the stream has already gone `capacity` further: then after the later one.
  WaitTarget done(std::uint64_t sequence) {
    return {&slot(sequence).done, sequence, WaitTarget::Meaning::kPosition, id_.id};
  }

  /// Fills in the times of what ran here. After the run.
  void stamp(std::span<runtime::Operation> operations) const;

 private:
  struct alignas(64) Slot {
    Counter put;  // the newest command in this slot
    Action action;
    alignas(64) Counter done;  // the newest one done from it
  };
  struct Stamp {
    std::uint32_t operation;
    runtime::Nanos start;
    runtime::Nanos end;
  };

  Slot& slot(std::uint64_t sequence) { return slots_[sequence % capacity_]; }
  void main();
  void run(const Action& action, std::uint32_t operation);
  template <class Fn>
  void timed(std::uint32_t operation, Fn&& fn);
  void run_graph(const GraphLaunch& launch, std::uint32_t operation);

  const runtime::Stream id_;
  const std::uint32_t device_;
  const std::size_t capacity_;
  const Shared shared_;
  const std::unique_ptr<Slot[]> slots_;
  Waiter waiter_;

  std::uint64_t enqueued_ = 0;  // the producer's

  Chaos chaos_;  // from here on the thread's own
  std::uint64_t sequence_ = 1;
  std::vector<Stamp> stamps_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace syncopate::cpu
