// What attention reads of a StepPlan, filled in on the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/models/llama/cuda/step_plan.h"
#include "tests/llama_cuda/device_array.h"

namespace syncopate::models::llama {

struct PlannedRow {
  std::uint32_t tokens = 0;
  std::uint32_t kv_length = 0;
  std::vector<std::int32_t> pages;
};

/// The device arrays stay where they are, so that a graph can be replayed with another fill().
class AttentionPlan {
 public:
  AttentionPlan(const StepShape& shape, std::uint32_t page_tokens, std::uint32_t pages_per_row)
      : shape_(shape),
        page_tokens_(page_tokens),
        pages_per_row_(pages_per_row),
        query_start_(shape.rows + 1),
        page_start_(shape.rows + 1),
        pages_(std::size_t{shape.rows} * pages_per_row),
        last_page_tokens_(shape.rows),
        tile_row_(shape.tiles()),
        tile_index_(shape.tiles()),
        tile_valid_(shape.tiles()) {
    plan_.query_start = query_start_.data();
    plan_.page_start = page_start_.data();
    plan_.pages = pages_.data();
    plan_.last_page_tokens = last_page_tokens_.data();
    plan_.tile_row = tile_row_.data();
    plan_.tile_index = tile_index_.data();
    plan_.tile_valid = tile_valid_.data();
  }

  void fill(std::span<const PlannedRow> rows) {
    std::vector<std::int32_t> query_start{0}, page_start{0}, pages, last_page, tile_row, tile_index;
    std::vector<char> tile_valid;
    for (std::uint32_t r = 0; r < shape_.rows; ++r) {
      const PlannedRow row = r < rows.size() ? rows[r] : PlannedRow{};
      query_start.push_back(query_start.back() + static_cast<std::int32_t>(row.tokens));
      pages.insert(pages.end(), row.pages.begin(), row.pages.end());
      pages.resize(std::size_t{r + 1} * pages_per_row_, 0);
      page_start.push_back(static_cast<std::int32_t>(pages.size()));
      last_page.push_back(static_cast<std::int32_t>(row.kv_length) -
                          static_cast<std::int32_t>((pages_per_row_ - 1) * page_tokens_));
      for (std::uint32_t query = 0; query < row.tokens * shape_.group; query += shape_.tile) {
        tile_row.push_back(static_cast<std::int32_t>(r));
        tile_index.push_back(static_cast<std::int32_t>(query / shape_.tile));
        tile_valid.push_back(1);
      }
    }
    tile_row.resize(shape_.tiles());
    tile_index.resize(shape_.tiles());
    tile_valid.resize(shape_.tiles());
    const auto copy = [](auto& array, const auto& values) {
      array.assign(values.data(), values.size());
    };
    copy(query_start_, query_start);
    copy(page_start_, page_start);
    copy(pages_, pages);
    copy(last_page_tokens_, last_page);
    copy(tile_row_, tile_row);
    copy(tile_index_, tile_index);
    copy(tile_valid_, tile_valid);
  }

  const StepShape& shape() const { return shape_; }
  const StepPlan& plan() const { return plan_; }

 private:
  StepShape shape_;
  std::uint32_t page_tokens_, pages_per_row_;
  DeviceArray<std::int32_t> query_start_, page_start_, pages_, last_page_tokens_, tile_row_,
      tile_index_;
  DeviceArray<bool> tile_valid_;
  StepPlan plan_{};
};

}  // namespace syncopate::models::llama
