// A PagedRunner that shows the logits.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "backend/models/llama/llama.h"
#include "tests/models/paged_runner.h"

namespace syncopate::models::llama {

class PagedRunner : public models::PagedRunner {
 public:
  PagedRunner(const LlamaModel& model, const BatchLimits& limits)
      : models::PagedRunner(model, limits), model_(model) {}

  /// Runs `rows` and returns the logits of each row's last token.
  std::vector<std::vector<float>> step(const std::vector<RunnerRow>& rows) {
    fill(rows);
    run();
    std::vector<std::vector<float>> logits(rows.size(), std::vector<float>(model_.vocab()));
    const std::byte* from = workspace() + model_.logits_offset(limits());
    for (std::vector<float>& row : logits) {
      std::memcpy(row.data(), from, row.size() * sizeof(float));
      from += row.size() * sizeof(float);
    }
    return logits;
  }

 private:
  const LlamaModel& model_;
};

}  // namespace syncopate::models::llama
