// The four strategies, one class each. make_strategy() is the way in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/batching/strategy.h"

namespace syncopate::batching {

/// Rung 1 and 3: one stream, the one that orders everything.
class DefaultStreamStrategy final : public Strategy {
 public:
  DefaultStreamStrategy(runtime::Runtime& runtime, runtime::Device device);
  void dispatch(runtime::Host& host, SlotRunner& slot, const StepEvents& events) override;
  void await(runtime::Host& host, const StepEvents& events) override;

 private:
  runtime::Stream stream_;
};

/// The three streams of every other strategy. Unless the options say otherwise the default stream
/// does not order them, only events do.
struct StreamTrio {
  StreamTrio(const StreamOptions& options, runtime::Runtime& runtime, runtime::Device device);
  runtime::Stream h2d, compute, d2h;
};

/// Rung 4: the three streams with nothing between them.
class UnorderedStrategy final : public Strategy {
 public:
  explicit UnorderedStrategy(const StreamTrio& streams) : streams_(streams) {}
  void dispatch(runtime::Host& host, SlotRunner& slot, const StepEvents& events) override;
  void await(runtime::Host& host, const StepEvents& events) override;

 private:
  StreamTrio streams_;
};

/// The names of an event chain's records, waits and block.
struct ChainSites {
  runtime::Site h2d_record, compute_wait, compute_record, d2h_wait, d2h_record, host_block;
};

/// Rung 6, ordered: the three streams ordered by events, one slot, one step in flight.
/// Rung 7 to 11, async: the same chain with more slots and more steps in flight. await() is then
/// called for the oldest step after a younger one was dispatched into another slot; that one block
/// of the host also protects the slot from being filled again too early.
class EventStrategy final : public Strategy {
 public:
  static EventStrategy ordered(const StreamTrio& streams);
  static EventStrategy async(const StreamTrio& streams, std::uint32_t slots);

  std::uint32_t slots() const override { return slots_; }
  std::uint32_t depth() const override { return depth_; }
  void dispatch(runtime::Host& host, SlotRunner& slot, const StepEvents& events) override;
  void await(runtime::Host& host, const StepEvents& events) override;

 private:
  EventStrategy(const StreamTrio& streams, const ChainSites& sites, std::uint32_t slots,
                std::uint32_t depth)
      : streams_(streams), sites_(sites), slots_(slots), depth_(depth) {}

  StreamTrio streams_;
  ChainSites sites_;
  std::uint32_t slots_;
  std::uint32_t depth_;
};

}  // namespace syncopate::batching
