// Runs a model's forward kernel on memory of its own, without a runtime: one call, one step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/models/batch_layout.h"
#include "backend/models/llama/llama.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models::llama {

using Ids = std::vector<std::int32_t>;
using Pages = std::vector<std::int32_t>;

/// One row of a step: `ids` at positions from `position` on, of a request that owns `pages`.
struct RunnerRow {
  Pages pages;
  std::int32_t position = 0;
  Ids ids;
};

/// All memory begins as NaN: what a step reads before it was written shows in its logits.
class PagedRunner {
 public:
  PagedRunner(const LlamaModel& model, const BatchLimits& limits)
      : model_(model),
        layout_(limits),
        inputs_(layout_.input_words()),
        outputs_(layout_.output_words(), -1),
        kv_(limits.pages * model.kv_page_bytes(limits) / sizeof(float), kNan),
        workspace_(model.workspace_bytes(limits) / sizeof(float), kNan),
        kernel_(model.forward(layout_, {{0}, {1}, {2}, {3}}, {})) {}
  PagedRunner(const PagedRunner&) = delete;
  PagedRunner& operator=(const PagedRunner&) = delete;

  void fill(const std::vector<RunnerRow>& rows) {
    const BatchLimits& limits = layout_.limits();
    std::fill(inputs_.begin(), inputs_.end(), 0);
    std::int32_t token = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const RunnerRow& row = rows[r];
      inputs_[layout_.row_start() + r] = token;
      inputs_[layout_.kv_length() + r] = row.position + static_cast<std::int32_t>(row.ids.size());
      inputs_[layout_.carry() + r] = -1;
      std::copy(row.pages.begin(), row.pages.end(),
                inputs_.begin() + layout_.block_table() +
                    static_cast<std::ptrdiff_t>(r * limits.pages_per_row));
      std::int32_t position = row.position;
      for (const std::int32_t id : row.ids) {
        inputs_[layout_.ids() + static_cast<std::size_t>(token)] = id;
        inputs_[layout_.positions() + static_cast<std::size_t>(token)] = position++;
        ++token;
      }
    }
    inputs_[layout_.row_start() + rows.size()] = token;
    inputs_[BatchLayout::kRows] = static_cast<std::int32_t>(rows.size());
    inputs_[BatchLayout::kTokens] = token;
  }

  void run() {
    std::array bases{bytes(inputs_), bytes(outputs_), bytes(kv_), bytes(workspace_)};
    runtime::Exec exec(bases.data(), nullptr);
    kernel_.host(exec);
  }

  /// Runs `rows` and returns the logits of each row's last token.
  std::vector<std::vector<float>> step(const std::vector<RunnerRow>& rows) {
    fill(rows);
    run();
    std::vector<std::vector<float>> logits(rows.size());
    const std::size_t first = model_.logits_offset(layout_.limits()) / sizeof(float);
    const float* from = workspace_.data() + first;
    for (auto& row : logits) {
      row.assign(from, from + model_.vocab());
      from += model_.vocab();
    }
    return logits;
  }

  std::vector<std::int32_t>& inputs() { return inputs_; }
  const std::vector<std::int32_t>& next_ids() const { return outputs_; }

 private:
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  template <class T>
  static std::byte* bytes(std::vector<T>& values) {
    return reinterpret_cast<std::byte*>(values.data());
  }

  const LlamaModel& model_;
  BatchLayout layout_;
  std::vector<std::int32_t> inputs_, outputs_;
  std::vector<float> kv_, workspace_;
  runtime::Kernel kernel_;
};

}  // namespace syncopate::models::llama
