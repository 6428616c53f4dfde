// The hash model, with graphs that are bound to sizes.
#pragma once

#include "backend/models/hash/hash_model.h"

namespace syncopate::driver {

/// Says what the hash model says, but its captured steps serve only batches of their size, as
/// kernels with fixed grids do: replayed for one of more rows, tokens or entries it says nonsense.
class BoundModel final : public models::Model {
 public:
  explicit BoundModel(const models::hash::HashConfig& config) : inner_(config) {}

  const char* kind() const override { return "bound"; }
  std::uint32_t vocab() const override { return inner_.vocab(); }
  std::uint32_t max_positions() const override { return inner_.max_positions(); }
  std::uint64_t kv_page_bytes(const models::BatchLimits& limits) const override {
    return inner_.kv_page_bytes(limits);
  }
  std::uint64_t kv_entry_bytes() const override { return inner_.kv_entry_bytes(); }
  std::uint64_t workspace_bytes(const models::BatchLimits&) const override { return 64; }
  models::GraphKey graph_key(std::uint32_t rows, std::uint32_t tokens,
                             std::uint32_t max_kv_tokens) const override;
  runtime::Kernel forward(const models::BatchLayout& layout, const models::StepBuffers& buffers,
                          const models::GraphKey& key) const override;

 private:
  models::hash::HashModel inner_;
};

}  // namespace syncopate::driver
