// A model that fails: as another does, until its forward pass has run a number of times.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "backend/models/model.h"

namespace syncopate::batching {

/// `fault` runs in place of forward pass number `good` (from 0) and of all after it. On CUDA bodies
/// run when they are captured, so there only without graphs.
class FaultyModel final : public models::Model {
 public:
  /// `model` outlives this one.
  FaultyModel(const models::Model& model, const runtime::Kernel& fault, int good)
      : model_(model), fault_(fault), good_(good) {}

  const char* kind() const override { return model_.kind(); }
  std::uint32_t vocab() const override { return model_.vocab(); }
  std::uint32_t max_positions() const override { return model_.max_positions(); }
  std::uint64_t kv_page_bytes(const models::BatchLimits& limits) const override {
    return model_.kv_page_bytes(limits);
  }
  std::uint64_t kv_entry_bytes() const override { return model_.kv_entry_bytes(); }
  std::uint64_t workspace_bytes(const models::BatchLimits& limits) const override {
    return model_.workspace_bytes(limits);
  }
  models::GraphKey graph_key(std::uint32_t rows, std::uint32_t tokens,
                             std::uint32_t kv_tokens) const override {
    return model_.graph_key(rows, tokens, kv_tokens);
  }
  runtime::Kernel forward(const models::BatchLayout& layout, const models::StepBuffers& buffers,
                          const models::GraphKey& key) const override {
    const Pass pass{this, &passes_.emplace_back(model_.forward(layout, buffers, key))};
    runtime::Kernel kernel;
    if (fault_.host) kernel.host = runtime::Body::of<run_host>(pass);
    if (fault_.cuda) kernel.cuda = runtime::Body::of<run_cuda>(pass);
    return kernel;
  }

 private:
  struct Pass {
    const FaultyModel* model;
    const runtime::Kernel* kernel;
  };
  bool fails() const { return run_++ >= good_; }
  static void run_host(runtime::Exec& exec, const Pass& pass) {
    (pass.model->fails() ? pass.model->fault_ : *pass.kernel).host(exec);
  }
  static void run_cuda(runtime::Exec& exec, const Pass& pass) {
    (pass.model->fails() ? pass.model->fault_ : *pass.kernel).cuda(exec);
  }

  const models::Model& model_;
  const runtime::Kernel fault_;
  const int good_;
  mutable std::atomic<int> run_ = 0;
  mutable std::deque<runtime::Kernel> passes_;  // stable addresses; made by one host's thread
};

}  // namespace syncopate::batching
