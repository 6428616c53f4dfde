// Runs a model's forward kernel on memory of its own, without a runtime: one call, one step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/models/batch_layout.h"
#include "backend/models/model.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models {

using Ids = std::vector<std::int32_t>;
using Pages = std::vector<std::int32_t>;

/// One row of a step: `ids` at positions from `position` on, of a request that owns `pages`.
struct RunnerRow {
  Pages pages;
  std::int32_t position = 0;
  Ids ids;
  Sampling sampling = {};
};

/// The input block of a step of `rows`.
inline Ids input_block(const BatchLayout& layout, const std::vector<RunnerRow>& rows) {
  Ids block(layout.input_words());
  std::int32_t token = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const RunnerRow& row = rows[r];
    block[layout.row_start() + r] = token;
    block[layout.kv_length() + r] = row.position + static_cast<std::int32_t>(row.ids.size());
    block[layout.carry() + r] = -1;
    std::copy(row.pages.begin(), row.pages.end(),
              block.begin() + layout.block_table() +
                  static_cast<std::ptrdiff_t>(r * layout.limits().pages_per_row));
    const SamplingWords words = encode(row.sampling);
    std::copy(words.begin(), words.end(),
              block.begin() + layout.sampling() + static_cast<std::ptrdiff_t>(r * kSamplingWords));
    std::int32_t position = row.position;
    for (const std::int32_t id : row.ids) {
      block[layout.ids() + static_cast<std::size_t>(token)] = id;
      block[layout.positions() + static_cast<std::size_t>(token)] = position++;
      ++token;
    }
  }
  block[layout.row_start() + rows.size()] = token;
  block[BatchLayout::kRows] = static_cast<std::int32_t>(rows.size());
  block[BatchLayout::kTokens] = token;
  return block;
}

/// All memory begins as bits that are all 1, NaN to those who read floats: what a step reads before
/// it was written shows.
class PagedRunner {
 public:
  PagedRunner(const Model& model, const BatchLimits& limits)
      : layout_(limits),
        inputs_(layout_.input_words()),
        outputs_(layout_.output_words(), -1),
        kv_(limits.pages * model.kv_page_bytes(limits), kUnwritten),
        workspace_(model.workspace_bytes(limits), kUnwritten),
        history_(std::size_t{limits.pages} * limits.page_tokens, -1),
        kernel_(model.forward(
            layout_, {.inputs = {0}, .outputs = {1}, .kv = {2}, .history = {3}, .workspace = {4}},
            {})) {}
  PagedRunner(const PagedRunner&) = delete;
  PagedRunner& operator=(const PagedRunner&) = delete;

  void fill(const std::vector<RunnerRow>& rows) { inputs_ = input_block(layout_, rows); }

  void run() {
    std::array bases{bytes(inputs_), bytes(outputs_), kv_.data(), bytes(history_),
                     workspace_.data()};
    runtime::Exec exec(bases.data(), nullptr);
    kernel_.host(exec);
  }

  /// Runs `rows` and returns each row's next id.
  Ids next(const std::vector<RunnerRow>& rows) {
    fill(rows);
    run();
    return {outputs_.begin(), outputs_.begin() + static_cast<std::ptrdiff_t>(rows.size())};
  }

  Ids& inputs() { return inputs_; }
  const Ids& next_ids() const { return outputs_; }
  const BatchLimits& limits() const { return layout_.limits(); }
  const std::byte* workspace() const { return workspace_.data(); }

 private:
  static constexpr std::byte kUnwritten{0xff};

  static std::byte* bytes(Ids& words) { return reinterpret_cast<std::byte*>(words.data()); }

  BatchLayout layout_;
  Ids inputs_, outputs_;
  std::vector<std::byte> kv_, workspace_;
  Ids history_;
  runtime::Kernel kernel_;
};

}  // namespace syncopate::models
