#include "backend/batching/batcher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/runtime/error.h"

namespace syncopate::batching {

using runtime::Access;
using runtime::Buffer;
using runtime::Cost;
using runtime::Device;
using runtime::Host;
using runtime::Memory;
using runtime::Runtime;

namespace {

// About how many steps it takes: as if rows and tokens were always full, and the longest came last.
std::size_t expected_steps(std::span<const Request> requests, const Scheduler& scheduler,
                           const models::BatchLimits& limits) {
  std::uint64_t prompts = 0;
  std::uint64_t tokens = 0;
  std::uint64_t longest = 0;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    if (scheduler.result(i).reason == FinishReason::kRefused) continue;
    prompts += requests[i].prompt.size();
    tokens += requests[i].max_new_tokens;
    longest = std::max<std::uint64_t>(longest, requests[i].max_new_tokens);
  }
  return prompts / limits.tokens + tokens / limits.rows + longest;
}

// Log entries of a step: prepare, extra, h2d, the graph and its two nodes, d2h, block, update; and
// their accesses, of which the KV writes are one a row.
constexpr std::size_t kOperationsPerStep = 9;
constexpr std::size_t kFixedAccessesPerStep = 14;

DeviceContext make_context(Runtime& runtime, Device device, const models::Model& model,
                           const models::BatchLayout& layout, const BatcherOptions& options,
                           const Strategy& strategy, std::span<const Request> requests) {
  const models::BatchLimits& limits = layout.limits();
  DeviceContext context;
  context.model = &model;
  context.layout = &layout;
  context.kv = runtime.make_buffer(device, Memory::kDevice,
                                   limits.pages * model.kv_page_bytes(limits), "kv");
  const auto penalises = [](const Request& r) { return r.sampling.repetition_penalty != 1; };
  if (std::ranges::any_of(requests, penalises)) {
    context.history = runtime.make_buffer(
        device, Memory::kDevice, std::uint64_t{limits.pages} * limits.page_tokens * 4, "history");
  }
  if (const std::uint64_t bytes = model.workspace_bytes(limits); bytes > 0) {
    context.workspace = runtime.make_buffer(device, Memory::kDevice, bytes, "workspace");
  }
  context.carry = strategy.depth() > 1;
  context.graphs = options.graphs;
  if (options.graphs) {
    context.capture_stream =
        runtime.make_stream(device, runtime::StreamKind::kNonBlocking, "capture");
  }
  return context;
}

}  // namespace

models::BatchLimits with_width(models::BatchLimits limits, std::span<const Request> requests) {
  std::uint64_t pages = 1;
  for (const Request& request : requests) {
    const std::uint64_t entries = std::max<std::uint64_t>(entries_at_end(request), 1);
    const std::uint64_t needs = (entries + limits.page_tokens - 1) / limits.page_tokens;
    if (needs <= limits.pages) pages = std::max(pages, needs);  // else it is refused
  }
  limits.pages_per_row = static_cast<std::uint32_t>(pages);
  return limits;
}

Batcher::Batcher(Runtime& runtime, Device device, const models::Model& model,
                 const models::BatchLimits& limits, BatcherOptions options,
                 std::span<const Request> requests)
    : layout_(with_width(limits, requests)),
      options_(std::move(options)),
      requests_(requests),
      strategy_(
          make_strategy(options_.strategy, options_.slots, options_.streams, runtime, device)),
      context_(make_context(runtime, device, model, layout_, options_, *strategy_, requests)),
      scheduler_(layout_,
                 {context_.kv, model.kv_page_bytes(layout_.limits()), model.kv_entry_bytes()},
                 {model.vocab(), model.max_positions()}, options_.scheduler, requests),
      slots_(strategy_->slots()),
      in_flight_(strategy_->depth()) {
  const std::uint32_t rows = layout_.limits().rows;
  for (std::uint32_t s = 0; s < slots_.size(); ++s) {
    const std::string number = std::to_string(s);
    Slot& slot = slots_[s];
    slot.index = s;
    slot.host_inputs = runtime.make_buffer(device, options_.host_memory, layout_.input_bytes(),
                                           "host_inputs" + number);
    slot.host_outputs = runtime.make_buffer(device, options_.host_memory, layout_.output_bytes(),
                                            "host_outputs" + number);
    slot.inputs =
        runtime.make_buffer(device, Memory::kDevice, layout_.input_bytes(), "inputs" + number);
    slot.outputs =
        runtime.make_buffer(device, Memory::kDevice, layout_.output_bytes(), "outputs" + number);
    slot.in = runtime.host_data<std::int32_t>(slot.host_inputs);
    slot.out = runtime.host_data<std::int32_t>(slot.host_outputs);
    slot.stay.resize(rows);
    slot.pages_written.resize(rows);
    // One a row, and one a page more for the longest prompts.
    slot.kv_writes.reserve(2 * std::size_t{rows} +
                           layout_.limits().tokens / layout_.limits().page_tokens);
  }
  runners_.reserve(slots_.size());
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const std::size_t before = (s + slots_.size() - 1) % slots_.size();
    runners_.emplace_back(context_, slots_[s], slots_[before].outputs);
  }
  for (InFlight& step : in_flight_) {
    step.events = {runtime.make_event(device), runtime.make_event(device),
                   runtime.make_event(device)};
    step.rows.request.resize(rows);
  }
  steps_.reserve(expected_steps(requests, scheduler_, layout_.limits()));
}

void Batcher::run(Host& host) {
  host.reserve(steps_.capacity() * kOperationsPerStep,
               steps_.capacity() * (kFixedAccessesPerStep + layout_.limits().rows));
  start_ = host.now();
  std::int32_t next = 0;    // to be planned
  std::int32_t oldest = 0;  // in flight
  const auto depth = static_cast<std::int32_t>(strategy_->depth());
  for (;;) {
    // Asking for the time makes virtual time catch up: only when something is to come.
    if (scheduler_.next_event() != kNever) scheduler_.advance(host.now() - start_);
    if (next - oldest < depth && scheduler_.has_work() && dispatch(host, next, next > oldest)) {
      ++next;
    } else if (oldest < next) {
      complete(host, oldest++);
    } else if (!idle(host)) {
      break;
    }
  }
  host.set_step(runtime::kNoStep);
  if (!scheduler_.finished()) throw runtime::UsageError("batcher: some requests were never served");
}

// Sleeps until something happens; false if nothing will.
bool Batcher::idle(Host& host) {
  if (scheduler_.next_event() == kNever) return false;
  host.sleep_until(start_ + scheduler_.next_event());
  return true;
}

bool Batcher::dispatch(Host& host, std::int32_t step, bool previous_in_flight) {
  SlotRunner& runner = runner_of(step);
  Slot& slot = runner.slot();
  host.set_step(step);
  bool planned = false;
  const Access fills[] = {write(slot.host_inputs, 0, layout_.input_bytes())};
  host.span("prepare", fills, [&] {
    planned = scheduler_.plan(step, slot, in_flight(step).rows, previous_in_flight);
    Cost cost;
    cost.work = runtime::Work::kPrepare;
    cost.rows = planned ? slot.rows : 0;
    cost.changed_rows = scheduler_.changed_rows();
    return cost;
  });
  if (!planned) return false;
  if (options_.on_plan) options_.on_plan(scheduler_, slot);
  if (options_.extra_host_ns > 0) host.busy("extra", options_.extra_host_ns);
  StepRecord& record = steps_.emplace_back();
  record.slot = slot.index;
  record.rows = slot.rows;
  record.tokens = slot.tokens;
  record.prefill_rows = scheduler_.prefill_rows();
  record.preempted = scheduler_.preempted();
  record.changed_rows = slot.cost.changed_rows;
  record.kv_tokens = slot.cost.kv_tokens;
  record.attention_pairs = slot.cost.attention_pairs;
  strategy_->dispatch(host, runner, in_flight(step).events);
  return true;
}

void Batcher::complete(Host& host, std::int32_t step) {
  const Slot& slot = runner_of(step).slot();
  StepRecord& record = steps_[static_cast<std::size_t>(step)];
  host.set_step(step);
  strategy_->await(host, in_flight(step).events);
  const Access takes[] = {read(slot.host_outputs, 0, std::uint64_t{record.rows} * 4)};
  host.span("update", takes, [&] {
    record.discarded = scheduler_.update(in_flight(step).rows, slot.out, options_.on_token);
    Cost cost;
    cost.work = runtime::Work::kUpdate;
    cost.rows = record.rows;
    return cost;
  });
  record.done = host.now();
  if (options_.on_step) {
    options_.on_step(static_cast<std::uint64_t>(step) + 1, scheduler_.tokens_done());
  }
}

Batcher::InFlight& Batcher::in_flight(std::int32_t step) {
  return in_flight_[static_cast<std::size_t>(step) % in_flight_.size()];
}

SlotRunner& Batcher::runner_of(std::int32_t step) {
  return runners_[static_cast<std::size_t>(step) % runners_.size()];
}

std::uint64_t Batcher::slot_bytes() const {
  return slots_.size() * 2 * (layout_.input_bytes() + layout_.output_bytes());
}

std::uint64_t Batcher::tokens_digest() const {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&hash](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ULL;
    }
  };
  for (std::uint32_t i = 0; i < requests_.size(); ++i) {
    const RequestResult result = scheduler_.result(i);
    add(static_cast<std::uint64_t>(result.reason));
    add(result.tokens.size());
    for (const std::int32_t id : result.tokens) add(static_cast<std::uint32_t>(id));
  }
  return hash;
}

}  // namespace syncopate::batching
