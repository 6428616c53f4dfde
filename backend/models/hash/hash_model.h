// The hash model: a language model in integers alone, exact on every runtime. Each next token is
// the argmax of integer logits that hash every token read back through the page table, so that any
// wrong page, row, position or stale id changes it and all that follows. Where a row asks for more
// than the argmax, that too is done in integers (choose.h).
#pragma once

#include <cstdint>

#include "backend/models/model.h"

namespace syncopate::models::hash {

struct HashConfig {
  std::uint32_t vocab = 256;            ///< From 2 to 2^24.
  std::uint32_t max_positions = 65536;  ///< At least 1.
  std::uint32_t seed = 1;               ///< Start of every row's history.
};

/// What a kernel of the model needs, by value.
struct ForwardArgs {
  const BatchLayout* layout = nullptr;
  StepBuffers buffers;
  std::uint32_t vocab = 0;
  std::uint32_t seed = 0;
};

class HashModel final : public Model {
 public:
  /// Throws runtime::UsageError when the config is out of its bounds.
  explicit HashModel(const HashConfig& config);

  const char* kind() const override { return "hash"; }
  std::uint32_t vocab() const override { return config_.vocab; }
  std::uint32_t max_positions() const override { return config_.max_positions; }
  std::uint64_t kv_page_bytes(const BatchLimits& limits) const override;
  std::uint64_t kv_entry_bytes() const override { return sizeof(std::uint32_t); }
  std::uint64_t workspace_bytes(const BatchLimits&) const override { return 0; }
  /// Kernels read all sizes from the input block: one graph serves every batch.
  GraphKey graph_key(std::uint32_t, std::uint32_t, std::uint32_t) const override { return {}; }
  runtime::Kernel forward(const BatchLayout& layout, const StepBuffers& buffers,
                          const GraphKey& key) const override;

 private:
  HashConfig config_;
};

}  // namespace syncopate::models::hash
