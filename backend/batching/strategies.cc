#include "backend/batching/strategies.h"

#include <algorithm>

#include "backend/runtime/error.h"

namespace syncopate::batching {

using runtime::Device;
using runtime::Host;
using runtime::Runtime;
using runtime::StreamKind;

StreamTrio::StreamTrio(const StreamOptions& options, Runtime& runtime, Device device) {
  const StreamKind kind = options.blocking ? StreamKind::kBlocking : StreamKind::kNonBlocking;
  h2d = runtime.make_stream(device, kind, "h2d");
  compute = runtime.make_stream(device, kind, "compute");
  d2h = options.d2h_on_default ? runtime.make_stream(device, StreamKind::kLegacyDefault, "default")
                               : runtime.make_stream(device, kind, "d2h");
}

// -- default_stream -----------------------------------------------------------------------------

DefaultStreamStrategy::DefaultStreamStrategy(Runtime& runtime, Device device)
    : stream_(runtime.make_stream(device, StreamKind::kLegacyDefault, "default")) {}

void DefaultStreamStrategy::dispatch(Host& host, SlotRunner& slot, const StepEvents&) {
  slot.upload(host, stream_);
  slot.compute(host, stream_);
  slot.download(host, stream_);
}

void DefaultStreamStrategy::await(Host& host, const StepEvents&) {
  host.synchronize(stream_, "default_stream.host.block");
}

// -- unordered ----------------------------------------------------------------------------------

void UnorderedStrategy::dispatch(Host& host, SlotRunner& slot, const StepEvents&) {
  slot.upload(host, streams_.h2d);
  slot.compute(host, streams_.compute);
  slot.download(host, streams_.d2h);
}

void UnorderedStrategy::await(Host&, const StepEvents&) {
}  // the host reads whatever is there: that is the rung

// -- ordered and async --------------------------------------------------------------------------

namespace {
constexpr ChainSites kOrderedSites = {"ordered.h2d.record",     "ordered.compute.wait",
                                      "ordered.compute.record", "ordered.d2h.wait",
                                      "ordered.d2h.record",     "ordered.host.block"};
constexpr ChainSites kAsyncSites = {"async.h2d.record",     "async.compute.wait",
                                    "async.compute.record", "async.d2h.wait",
                                    "async.d2h.record",     "async.host.block"};
}  // namespace

EventStrategy EventStrategy::ordered(const StreamTrio& streams) {
  return {streams, kOrderedSites, 1, 1};
}

EventStrategy EventStrategy::async(const StreamTrio& streams, std::uint32_t slots) {
  if (slots == 0) throw runtime::UsageError("async: needs at least one slot");
  return {streams, kAsyncSites, slots, std::max(slots, 2U)};
}

void EventStrategy::dispatch(Host& host, SlotRunner& slot, const StepEvents& events) {
  slot.upload(host, streams_.h2d);
  host.record(events.h2d_done, streams_.h2d, sites_.h2d_record);

  host.wait(streams_.compute, events.h2d_done, sites_.compute_wait);
  slot.compute(host, streams_.compute);
  host.record(events.compute_done, streams_.compute, sites_.compute_record);

  host.wait(streams_.d2h, events.compute_done, sites_.d2h_wait);
  slot.download(host, streams_.d2h);
  host.record(events.d2h_done, streams_.d2h, sites_.d2h_record);
}

void EventStrategy::await(Host& host, const StepEvents& events) {
  host.synchronize(events.d2h_done, sites_.host_block);
}

// -- by name ------------------------------------------------------------------------------------

std::unique_ptr<Strategy> make_strategy(StrategyKind kind, std::uint32_t slots,
                                        const StreamOptions& streams, Runtime& runtime,
                                        Device device) {
  const auto trio = [&] { return StreamTrio(streams, runtime, device); };
  switch (kind) {
    case StrategyKind::kDefaultStream:
      return std::make_unique<DefaultStreamStrategy>(runtime, device);
    case StrategyKind::kUnordered:
      return std::make_unique<UnorderedStrategy>(trio());
    case StrategyKind::kOrdered:
      return std::make_unique<EventStrategy>(EventStrategy::ordered(trio()));
    case StrategyKind::kAsync:
      return std::make_unique<EventStrategy>(EventStrategy::async(trio(), slots));
  }
  throw runtime::UsageError("make_strategy: not a strategy");
}

bool is_race_free(StrategyKind kind, std::uint32_t slots) {
  return kind != StrategyKind::kUnordered && (kind != StrategyKind::kAsync || slots >= 2);
}

const char* to_string(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::kDefaultStream:
      return "default_stream";
    case StrategyKind::kUnordered:
      return "unordered";
    case StrategyKind::kOrdered:
      return "ordered";
    case StrategyKind::kAsync:
      return "async";
  }
  return "";
}

}  // namespace syncopate::batching
