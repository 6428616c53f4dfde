#include "backend/ulysses/strategies.h"

#include <algorithm>

#include "backend/runtime/error.h"

namespace syncopate::ulysses {

using runtime::Device;
using runtime::Host;
using runtime::Runtime;
using runtime::Stream;

void OneStreamStrategy::enqueue(Host& host, RankPass& pass) {
  for (std::uint32_t band = 0; band < pass.bands(); ++band) {
    if (one_by_one_) {
      pass.scatter_one_by_one(host, caller_, band);
    } else {
      pass.scatter(host, caller_, band);
    }
    pass.attend(host, caller_, band);
    pass.gather(host, caller_, band);
  }
}

OverlapStrategy::OverlapStrategy(EnqueueOrder order, std::uint32_t bands, Runtime& runtime,
                                 Device device, Stream caller, const RankStreams& streams)
    : order_(order),
      caller_(caller),
      input_(streams.input),
      output_(streams.output),
      begun_(runtime.make_event(device)),
      done_(runtime.make_event(device)) {
  for (std::uint32_t band = 0; band < bands; ++band) {
    input_ready_.push_back(runtime.make_event(device));
    compute_ready_.push_back(runtime.make_event(device));
  }
}

void OverlapStrategy::scatter(Host& host, RankPass& pass, std::uint32_t band) {
  pass.scatter(host, input_, band);
  host.record(input_ready_[band], input_, "chunk_overlap.input.record");
}

// The output stream needs no wait of its own for the caller's stream: its first wait is for an
// attention there.
void OverlapStrategy::enqueue(Host& host, RankPass& pass) {
  host.record(begun_, caller_, "chunk_overlap.caller.record");
  host.wait(input_, begun_, "chunk_overlap.input.wait_caller");
  const bool in_turn = order_ == EnqueueOrder::kInTurn;
  const std::uint32_t ahead = in_turn ? 1 : std::min(pass.slots(), pass.bands());
  for (std::uint32_t band = 0; band < ahead; ++band) scatter(host, pass, band);
  for (std::uint32_t band = 0; band < pass.bands(); ++band) {
    host.wait(caller_, input_ready_[band], "chunk_overlap.compute.wait_input");
    pass.attend(host, caller_, band);
    host.record(compute_ready_[band], caller_, "chunk_overlap.compute.record");
    // Behind the attention that frees its slot, never before: a stream must not wait for what is
    // not enqueued yet, where streams share a queue.
    const bool more = band + ahead < pass.bands();
    if (more && !in_turn) scatter(host, pass, band + ahead);

    host.wait(output_, compute_ready_[band], "chunk_overlap.output.wait_compute");
    pass.gather(host, output_, band);
    if (more && in_turn) scatter(host, pass, band + ahead);
  }
  host.record(done_, output_, "chunk_overlap.output.record");
  host.wait(caller_, done_, "chunk_overlap.caller.wait_output");
}

std::unique_ptr<Strategy> make_strategy(StrategyKind kind, EnqueueOrder order, std::uint32_t bands,
                                        Runtime& runtime, Device device, Stream caller,
                                        const RankStreams& streams) {
  switch (kind) {
    case StrategyKind::kOrdinary:
      return std::make_unique<OneStreamStrategy>(caller, /*one_by_one=*/true);
    case StrategyKind::kWholeFused:
    case StrategyKind::kChunkSequential:
      return std::make_unique<OneStreamStrategy>(caller, /*one_by_one=*/false);
    case StrategyKind::kChunkOverlap:
      return std::make_unique<OverlapStrategy>(order, bands, runtime, device, caller, streams);
  }
  throw runtime::UsageError("make_strategy: not a strategy");
}

const char* to_string(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::kOrdinary:
      return "ordinary";
    case StrategyKind::kWholeFused:
      return "whole_fused";
    case StrategyKind::kChunkSequential:
      return "chunk_sequential";
    case StrategyKind::kChunkOverlap:
      return "chunk_overlap";
  }
  return "";
}

}  // namespace syncopate::ulysses
