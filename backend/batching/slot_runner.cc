#include "backend/batching/slot_runner.h"

#include <algorithm>

#include "backend/models/carry.h"

namespace syncopate::batching {

using models::GraphKey;
using runtime::Access;
using runtime::Host;
using runtime::Region;
using runtime::Stream;

SlotRunner::SlotRunner(const DeviceContext& context, Slot& slot, runtime::Buffer previous_outputs)
    : context_(context),
      slot_(slot),
      buffers_{slot.inputs, slot.outputs, context.kv, context.history, context.workspace} {
  const models::BatchLayout& layout = *context.layout;
  const models::BatchLimits& limits = layout.limits();
  const std::uint64_t ids = std::uint64_t{layout.ids()} * 4;
  const std::uint64_t ids_end = std::uint64_t{layout.positions()} * 4;
  if (context.carry) {
    carry_ = models::carry_kernel(layout, slot.inputs, previous_outputs);
    carry_accesses_ = {read(slot.inputs, 0, ids), write(slot.inputs, ids, ids_end),
                       read(previous_outputs, 0, layout.output_bytes())};
  }
  // All of the KV pool counts as read: the exact pages of every row would be thousands of ranges a
  // step, and would say no more, since pages have one owner.
  const std::uint64_t pool = limits.pages * context.model->kv_page_bytes(limits);
  forward_accesses_ = {read(slot.inputs, 0, layout.input_bytes()),
                       write(slot.outputs, 0, layout.output_bytes()), read(context.kv, 0, pool)};
  if (context.history) {
    const std::uint64_t bytes = std::uint64_t{limits.pages} * limits.page_tokens * 4;
    forward_accesses_.push_back(read(context.history, 0, bytes));
    forward_accesses_.push_back(write(context.history, 0, bytes));
  }
  fixed_accesses_ = forward_accesses_.size();
  forward_accesses_.reserve(fixed_accesses_ + slot.kv_writes.capacity() + 1);
  graphs_.reserve(4);
}

void SlotRunner::upload(Host& host, Stream stream) {
  const models::BatchLayout& layout = *context_.layout;
  const std::uint64_t bytes =
      slot_.tail_changed ? layout.input_bytes() : std::uint64_t{layout.block_table()} * 4;
  host.copy(stream, "h2d", Region::flat(slot_.inputs, 0, bytes),
            Region::flat(slot_.host_inputs, 0, bytes));
}

void SlotRunner::download(Host& host, Stream stream) {
  const std::uint64_t bytes = std::uint64_t{slot_.rows} * 4;
  host.copy(stream, "d2h", Region::flat(slot_.host_outputs, 0, bytes),
            Region::flat(slot_.outputs, 0, bytes));
}

void SlotRunner::compute(Host& host, Stream stream) {
  const GraphKey key =
      context_.model->graph_key(slot_.rows, slot_.tokens, slot_.cost.max_kv_tokens);
  if (context_.graphs) {
    const runtime::Graph graph = graph_for(host, key);
    const runtime::NodeArgs args[2] = {
        {0, carry_cost(), {}},
        {context_.carry ? std::uint16_t{1} : std::uint16_t{0}, slot_.cost, slot_.kv_writes}};
    host.launch(graph, stream, "step", std::span(args).subspan(context_.carry ? 0 : 1));
    return;
  }
  forward_accesses_.resize(fixed_accesses_);
  if (context_.workspace) {  // in a graph the front end declares it
    const std::uint64_t bytes = context_.model->workspace_bytes(context_.layout->limits());
    forward_accesses_.push_back(write(context_.workspace, 0, bytes));
  }
  forward_accesses_.insert(forward_accesses_.end(), slot_.kv_writes.begin(), slot_.kv_writes.end());
  launch_kernels(host, stream, key, forward_accesses_);
}

runtime::Cost SlotRunner::carry_cost() const {
  runtime::Cost cost;
  cost.work = runtime::Work::kCarry;
  cost.rows = slot_.rows;
  return cost;
}

void SlotRunner::launch_kernels(Host& host, Stream stream, const GraphKey& key,
                                std::span<const Access> forward_accesses) {
  if (context_.carry) host.launch(stream, "carry", carry_cost(), carry_accesses_, carry_);
  host.launch(stream, "forward", slot_.cost, forward_accesses,
              context_.model->forward(*context_.layout, buffers_, key));
}

runtime::Graph SlotRunner::graph_for(Host& host, const GraphKey& key) {
  const auto found = std::find_if(graphs_.begin(), graphs_.end(),
                                  [&key](const Captured& c) { return c.key == key; });
  if (found != graphs_.end()) return found->graph;
  const runtime::Graph graph =
      host.capture(context_.capture_stream, context_.workspace,
                   "step of slot " + std::to_string(slot_.index), [&](Host& h) {
                     launch_kernels(h, context_.capture_stream, key,
                                    std::span(forward_accesses_).first(fixed_accesses_));
                   });
  graphs_.push_back({key, graph});
  return graph;
}

}  // namespace syncopate::batching
