// Strategies: the rungs of the ladder from taking turns to overlap. Each says which streams are
// used, what is recorded and waited for, how many slots there are and when the host blocks.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/batching/slot_runner.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"

namespace syncopate::batching {

enum class StrategyKind : std::uint8_t {
  kDefaultStream,  ///< Everything in the legacy default stream: host and device take turns.
  kUnordered,      ///< Three streams and no events: control comes back at once, results are wrong.
  kOrdered,        ///< Three streams ordered by events; one step in flight.
  kAsync,          ///< As ordered, with several slots and carry-over: steps overlap host work.
};

/// How the streams of a strategy that has some of its own are made. The defaults are right; the
/// rest is there to be measured.
struct StreamOptions {
  /// As cudaStreamCreate makes them: the legacy default stream waits for them, and they for it.
  /// Off: it does not order them at all, as PyTorch's pool streams.
  bool blocking = false;
  /// The copy of the ids to the host goes into the legacy default stream, as when its stream was
  /// forgotten.
  bool d2h_on_default = false;
};

/// The events of one step in flight. They belong to the step and not to its slot: when a slot is
/// used again too early, the host still waits for the right step.
struct StepEvents {
  runtime::Event h2d_done;
  runtime::Event compute_done;
  runtime::Event d2h_done;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  /// Input and output sets; step s uses slot s % slots().
  virtual std::uint32_t slots() const { return 1; }
  /// Steps that may be in flight: a step is planned while fewer than this many are.
  virtual std::uint32_t depth() const { return 1; }

  /// Enqueues the step that `slot` holds. Never blocks.
  virtual void dispatch(runtime::Host& host, SlotRunner& slot, const StepEvents& events) = 0;
  /// Returns when the outputs of the step with these events may be read on the host.
  virtual void await(runtime::Host& host, const StepEvents& events) = 0;
};

/// Makes the strategy and its streams. `slots` counts for kAsync only and is at least 1; with 1 it
/// still keeps two steps in flight, over one slot: that is the race which slots exist to prevent.
/// `streams` counts for all but kDefaultStream.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind, std::uint32_t slots,
                                        const StreamOptions& streams, runtime::Runtime& runtime,
                                        runtime::Device device);

/// Whether every access is ordered by what the strategy does.
bool is_race_free(StrategyKind kind, std::uint32_t slots);

/// "default_stream", "unordered", "ordered" or "async".
const char* to_string(StrategyKind kind);

}  // namespace syncopate::batching
