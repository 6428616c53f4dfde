// Strategies: how much of a pass overlaps. Each says which streams are used and what is recorded
// and waited for.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "backend/ulysses/rank_pass.h"
#include "backend/ulysses/rank_streams.h"

namespace syncopate::ulysses {

enum class StrategyKind : std::uint8_t {
  kOrdinary,         ///< Scatter Q, K, V one by one, attention, gather: all in the caller's stream.
  kWholeFused,       ///< The same with one scatter of all three.
  kChunkSequential,  ///< Band by band, one after the other, in the caller's stream.
  kChunkOverlap,     ///< A stream that scatters and one that gathers beside the caller's.
};

/// When kChunkOverlap enqueues a band's scatter.
enum class EnqueueOrder : std::uint8_t {
  kAhead,   ///< As early as there is a slot: those of all bands, as a rule, before any attention.
  kInTurn,  ///< With its band: scatter, attention and gather of one band, then those of the next,
            ///< as the published pipeline has it. Where a scatter needs SMs it then stands behind
            ///< the attention of the band before.
};

/// One rank's; used by its host.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Enqueues a pass. q, k and v are what the caller's stream has put there, and the output is
  /// whole for what comes behind in it. Never blocks.
  virtual void enqueue(runtime::Host& host, RankPass& pass) = 0;
};

/// Makes the strategy, and its events on `device`. `streams` are the rank's; `bands` of the layout
/// that it will run, the unchunked one for strategies that do not chunk.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind, EnqueueOrder order, std::uint32_t bands,
                                        runtime::Runtime& runtime, runtime::Device device,
                                        runtime::Stream caller, const RankStreams& streams);

/// Whether it takes a schedule's bands; the others take all local heads at once.
constexpr bool chunks(StrategyKind kind) {
  return kind == StrategyKind::kChunkSequential || kind == StrategyKind::kChunkOverlap;
}

/// "ordinary", "whole_fused", "chunk_sequential" or "chunk_overlap".
const char* to_string(StrategyKind kind);

}  // namespace syncopate::ulysses
