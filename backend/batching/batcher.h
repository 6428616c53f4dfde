// The batcher: the program. An asynchronous continuous batcher, written once against the runtime's
// seam; the strategy decides how much of it overlaps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/batching/request.h"
#include "backend/batching/scheduler.h"
#include "backend/batching/slot_runner.h"
#include "backend/batching/strategy.h"
#include "backend/models/batch_layout.h"
#include "backend/models/model.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"

namespace syncopate::batching {

struct BatcherOptions {
  StrategyKind strategy = StrategyKind::kAsync;
  std::uint32_t slots = 2;  ///< kAsync only.
  bool graphs = true;
  StreamOptions streams;
  /// Host memory of the inputs and outputs; pageable makes every copy hold the host.
  runtime::Memory host_memory = runtime::Memory::kPinned;
  SchedulerOptions scheduler;
  runtime::Nanos extra_host_ns = 0;  ///< Host time burnt in each step, beside the program's own.
  /// Called on the host with each step that was planned, before it is dispatched: the books as they
  /// then are, and the slot that it was planned into. What tests check. May be empty.
  std::function<void(const Scheduler& scheduler, const Slot& slot)> on_plan;
  /// Called on the host after each step's results are taken, with the steps done and the tokens
  /// generated so far. May be empty.
  std::function<void(std::uint64_t steps, std::uint64_t tokens)> on_step;
  /// Called on the host with each token as it becomes known, in the order of steps and rows. May
  /// call Batcher::cancel(). Its time counts as the step's update.
  OnToken on_token;
};

/// Rows, tokens and pages of a batch; the width of block tables follows from the requests.
models::BatchLimits with_width(models::BatchLimits limits, std::span<const Request> requests);

/// Creates its streams, events and buffers on `device` in the constructor; run() is the host's
/// main. Use: Batcher b(runtime, device, model, limits, options, requests);
///      const HostMain mains[] = {[&](Host& host) { b.run(host); }};  runtime.run(mains);
class Batcher {
 public:
  /// `model` and `requests` must outlive the batcher, the batcher the run. A request that can never
  /// be served is refused by itself: its result says why. Throws runtime::UsageError for limits
  /// that make no sense.
  Batcher(runtime::Runtime& runtime, runtime::Device device, const models::Model& model,
          const models::BatchLimits& limits, BatcherOptions options,
          std::span<const Request> requests);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Serves all requests to their ends; their times count from this call. No allocation in steady
  /// state: once every slot has held a step of the largest batch and its graphs are captured.
  void run(runtime::Host& host);

  /// Ends a request wherever it is: waiting, in a batch, or in a step in flight, whose row of it is
  /// then discarded. Nothing if it has ended. Only from callbacks, on the host's thread.
  void cancel(std::uint32_t request) { scheduler_.cancel(request); }

  /// Results so far; after an interrupted run, what was finished.
  RequestResult result(std::uint32_t request) const { return scheduler_.result(request); }
  /// When it came, after start(); kNever: it never did.
  runtime::Nanos arrival(std::uint32_t request) const { return scheduler_.arrival(request); }
  /// The step that sampled each of the request's tokens.
  std::vector<std::int32_t> token_steps(std::uint32_t request) const {
    return scheduler_.token_steps(request);
  }
  std::span<const StepRecord> steps() const { return steps_; }
  /// When run() began, on the host's clock: what the requests' times count from.
  runtime::Nanos start() const { return start_; }
  /// Bytes of all slots' inputs and outputs, host and device together.
  std::uint64_t slot_bytes() const;
  /// A fingerprint (64-bit FNV-1a) of every request's tokens and finish reason, in order. Equal
  /// digests mean equal results.
  std::uint64_t tokens_digest() const;

 private:
  bool idle(runtime::Host& host);
  bool dispatch(runtime::Host& host, std::int32_t step, bool previous_in_flight);
  void complete(runtime::Host& host, std::int32_t step);
  struct InFlight {
    StepEvents events;
    StepRows rows;
  };
  InFlight& in_flight(std::int32_t step);
  SlotRunner& runner_of(std::int32_t step);

  const models::BatchLayout layout_;
  const BatcherOptions options_;
  const std::span<const Request> requests_;
  std::unique_ptr<Strategy> strategy_;
  DeviceContext context_;
  Scheduler scheduler_;
  std::vector<Slot> slots_;
  std::vector<SlotRunner> runners_;  // one a slot
  std::vector<InFlight> in_flight_;  // one a step that may be in flight
  std::vector<StepRecord> steps_;
  runtime::Nanos start_ = 0;
};

}  // namespace syncopate::batching
