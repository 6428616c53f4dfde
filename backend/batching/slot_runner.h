// Puts the device work of a slot's step on streams: the copy in, the computation, the copy out.
// What waits for what is a Strategy's business.
#pragma once

#include <utility>
#include <vector>

#include "backend/batching/slot.h"
#include "backend/models/batch_layout.h"
#include "backend/models/model.h"
#include "backend/runtime/host.h"

namespace syncopate::batching {

/// The buffers that all slots share, and how a step is computed.
struct DeviceContext {
  const models::Model* model = nullptr;
  const models::BatchLayout* layout = nullptr;
  runtime::Buffer kv;
  runtime::Buffer history;    ///< None when no request has a repetition penalty.
  runtime::Buffer workspace;  ///< None when the model needs none.
  bool carry = false;         ///< Whether steps take ids from the step before.
  bool graphs = false;
  runtime::Stream capture_stream;  ///< Where graphs are captured; none without graphs.
};

class SlotRunner {
 public:
  /// `previous_outputs` are the device outputs of the slot that the step before uses. Both
  /// references must outlive the runner.
  SlotRunner(const DeviceContext& context, Slot& slot, runtime::Buffer previous_outputs);

  Slot& slot() { return slot_; }

  /// Copies the inputs to the device: block tables and sampling only if they changed.
  void upload(runtime::Host& host, runtime::Stream stream);
  /// Carry-over, if steps carry, and the forward pass; as a graph, captured at first need for each
  /// key of the model, or as single launches.
  void compute(runtime::Host& host, runtime::Stream stream);
  /// Copies the sampled ids of the step's rows to the host outputs.
  void download(runtime::Host& host, runtime::Stream stream);

 private:
  struct Captured {
    models::GraphKey key;
    runtime::Graph graph;
  };

  runtime::Cost carry_cost() const;
  void launch_kernels(runtime::Host& host, runtime::Stream stream, const models::GraphKey& key,
                      std::span<const runtime::Access> forward_accesses);
  runtime::Graph graph_for(runtime::Host& host, const models::GraphKey& key);

  const DeviceContext& context_;
  Slot& slot_;
  std::vector<runtime::Access> carry_accesses_;
  std::vector<runtime::Access> forward_accesses_;  // the fixed ones, then the step's KV writes
  std::size_t fixed_accesses_ = 0;
  runtime::Kernel carry_;
  models::StepBuffers buffers_;
  std::vector<Captured> graphs_;
};

}  // namespace syncopate::batching
