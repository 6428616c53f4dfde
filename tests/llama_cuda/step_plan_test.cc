// The plan of a step against one worked out on the host, row by row.
#include "backend/models/llama/cuda/step_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend/runtime/error.h"
#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/device_array.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint32_t kVocab = 1000;
constexpr runtime::Buffer kHistory{0};

using Ints = std::vector<std::int32_t>;

// A plan in host memory, and the history behind it.
struct HostPlan {
  Ints entry, position, id, last_token, query_start, page_start, pages, last_page_tokens, tile_row,
      tile_index;
  std::vector<bool> tile_valid;
  Ints history;
  friend bool operator==(const HostPlan&, const HostPlan&) = default;
};

// A row's tokens are those from where the row before ends up to its own end.
HostPlan expected_plan(const BatchView& batch, const BatchLimits& limits, const StepShape& shape) {
  const std::uint32_t rows = std::min(batch.rows(), shape.rows);
  const std::uint32_t tokens = std::min(batch.tokens(), shape.tokens);
  HostPlan plan;
  plan.entry.assign(shape.tokens, -1);
  plan.position.assign(shape.tokens, 0);
  plan.id.assign(shape.tokens, 0);
  plan.last_token.assign(shape.rows, 0);
  plan.pages.assign(shape.rows * limits.pages_per_row, 0);
  plan.tile_row.assign(shape.tiles(), 0);
  plan.tile_index.assign(shape.tiles(), 0);
  plan.tile_valid.assign(shape.tiles(), false);
  plan.history.assign(limits.pages * limits.page_tokens, -7);
  std::uint32_t token = std::min(batch.row_start(0), tokens);
  std::size_t tile = 0;
  for (std::uint32_t row = 0; row <= shape.rows; ++row) {
    plan.query_start.push_back(static_cast<std::int32_t>(token));
    plan.page_start.push_back(static_cast<std::int32_t>(row * limits.pages_per_row));
    if (row == shape.rows) break;
    const std::uint32_t length = row < rows ? batch.kv_length(row) : 0;
    plan.last_page_tokens.push_back(
        static_cast<std::int32_t>(length) -
        static_cast<std::int32_t>((limits.pages_per_row - 1) * limits.page_tokens));
    if (row >= rows) continue;
    for (std::uint32_t i = 0; i < limits.pages_per_row; ++i) {
      plan.pages[row * limits.pages_per_row + i] = static_cast<std::int32_t>(
          batch.kv_entry(row, i * limits.page_tokens) / limits.page_tokens);
    }
    const std::uint32_t end = std::min(batch.row_start(row + 1), tokens);
    std::uint32_t queries = 0;
    for (; token < end; ++token, queries += shape.group) {
      const std::uint32_t position = batch.position(token);
      plan.entry[token] = static_cast<std::int32_t>(batch.kv_entry(row, position));
      plan.position[token] = static_cast<std::int32_t>(position);
      plan.id[token] = static_cast<std::int32_t>(batch.id(token, kVocab));
      plan.last_token[row] = static_cast<std::int32_t>(token);
      plan.history[static_cast<std::size_t>(plan.entry[token])] = plan.id[token];
    }
    for (std::uint32_t index = 0; index * shape.tile < queries; ++index, ++tile) {
      plan.tile_row.at(tile) = static_cast<std::int32_t>(row);
      plan.tile_index.at(tile) = static_cast<std::int32_t>(index);
      plan.tile_valid.at(tile) = true;
    }
  }
  return plan;
}

HostPlan device_plan(const Ints& block, const BatchLayout& layout, const StepShape& shape) {
  const BatchLimits& limits = layout.limits();
  const DeviceArray<std::int32_t> inputs(block);
  const DeviceArray<std::int32_t> history(Ints(limits.pages * limits.page_tokens, -7));
  const DeviceArray<std::byte> memory(step_plan_bytes(shape, limits.pages_per_row));
  const StepPlan plan = step_plan_at(memory.data(), shape, limits.pages_per_row);
  const BatchView batch(inputs.data(), layout);
  std::byte* const base = reinterpret_cast<std::byte*>(history.data());
  enqueue_step_plan(nullptr, batch, limits, kVocab,
                    HistoryView(batch, runtime::Exec(&base, nullptr), kHistory, kVocab), shape,
                    plan);
  return {read_device(plan.entry, shape.tokens),
          read_device(plan.position, shape.tokens),
          read_device(plan.id, shape.tokens),
          read_device(plan.last_token, shape.rows),
          read_device(plan.query_start, shape.rows + 1),
          read_device(plan.page_start, shape.rows + 1),
          read_device(plan.pages, shape.rows * limits.pages_per_row),
          read_device(plan.last_page_tokens, shape.rows),
          read_device(plan.tile_row, shape.tiles()),
          read_device(plan.tile_index, shape.tiles()),
          read_device(plan.tile_valid, shape.tiles()),
          history.read()};
}

class StepPlanTest : public cuda::DeviceTest {
 protected:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  BatchLimits random_limits(std::uint32_t most_rows, std::uint32_t most_tokens) {
    BatchLimits limits;
    limits.rows = 1 + below(most_rows);
    limits.tokens = limits.rows + below(most_tokens);
    limits.page_tokens = 1U << below(6);
    limits.pages_per_row = 1 + below(40);
    limits.pages = limits.rows * limits.pages_per_row;
    return limits;
  }
  // Rows of 0 to some tokens, each row with pages of its own.
  Ints random_block(const BatchLayout& layout) {
    const BatchLimits& limits = layout.limits();
    Ints pages(limits.pages);
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<std::int32_t>(i);
    std::shuffle(pages.begin(), pages.end(), random_);
    Ints block(layout.input_words(), 0);
    const std::uint32_t rows = 1 + below(limits.rows);
    std::uint32_t token = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint32_t most = limits.pages_per_row * limits.page_tokens;
      const std::uint32_t count = std::min({below(2) ? 1 : below(60), most, limits.tokens - token});
      const std::uint32_t past = below(most - count + 1);
      for (std::uint32_t i = 0; i < count; ++i, ++token) {
        block[layout.ids() + token] = static_cast<std::int32_t>(below(kVocab));
        block[layout.positions() + token] = static_cast<std::int32_t>(past + i);
      }
      block[layout.row_start() + row + 1] = static_cast<std::int32_t>(token);
      block[layout.kv_length() + row] = static_cast<std::int32_t>(past + count);
      for (std::uint32_t i = 0; i < limits.pages_per_row; ++i) {
        block[layout.block_table() + row * limits.pages_per_row + i] =
            pages[row * limits.pages_per_row + i];
      }
    }
    block[BatchLayout::kRows] = static_cast<std::int32_t>(rows);
    block[BatchLayout::kTokens] = static_cast<std::int32_t>(token);
    return block;
  }
  StepShape random_shape(std::uint32_t rows, std::uint32_t tokens) {
    static constexpr std::uint32_t kTiles[] = {16, 64, 128};
    return {rows, tokens, kTiles[below(3)], 1 + below(8)};
  }

  std::mt19937_64 random_{4};
};

TEST_F(StepPlanTest, EqualsThatOfTheHostForRaggedBatches) {
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const bool large = i % 10 == 0;
    const BatchLimits limits = random_limits(large ? 1024 : 20, large ? 16384 : 300);
    const BatchLayout layout(limits);
    const Ints block = random_block(layout);
    const StepShape shape =
        random_shape(std::min(kMaxPlanRows, limits.rows + below(9)), limits.tokens + below(50));
    EXPECT_TRUE(device_plan(block, layout, shape) ==
                expected_plan(BatchView(block.data(), layout), limits, shape));
  }
}

TEST_F(StepPlanTest, StaysInRangeWhateverTheBlockHolds) {
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const BatchLimits limits = random_limits(40, 300);
    const BatchLayout layout(limits);
    Ints block = random_block(layout);
    for (std::int32_t& word : block) {
      if (below(3) != 0) continue;
      word = static_cast<std::int32_t>(random_());
      if (below(2)) word %= 400;
    }
    // Of a smaller step too, as when a block is overwritten under a graph that was made for less.
    const StepShape shape = random_shape(1 + below(limits.rows + 4), 1 + below(limits.tokens + 9));
    HostPlan plan = device_plan(block, layout, shape);
    const auto in_range = [](const Ints& values, std::int64_t low, std::int64_t end) {
      return std::all_of(values.begin(), values.end(),
                         [=](std::int32_t value) { return value >= low && value < end; });
    };
    const std::uint32_t entries = limits.pages * limits.page_tokens;
    EXPECT_TRUE(in_range(plan.entry, -1, entries));
    EXPECT_TRUE(in_range(plan.position, 0, limits.pages_per_row * limits.page_tokens));
    EXPECT_TRUE(in_range(plan.id, 0, kVocab));
    EXPECT_TRUE(in_range(plan.last_token, 0, shape.tokens));
    EXPECT_TRUE(in_range(plan.query_start, 0, shape.tokens + 1));
    EXPECT_TRUE(std::is_sorted(plan.query_start.begin(), plan.query_start.end()));
    EXPECT_TRUE(in_range(plan.pages, 0, limits.pages));
    EXPECT_TRUE(in_range(plan.tile_row, 0, shape.rows));
    for (std::size_t tile = 0; tile < plan.tile_valid.size(); ++tile) {
      const auto row = static_cast<std::size_t>(plan.tile_row[tile]);
      const std::uint32_t first =
          static_cast<std::uint32_t>(plan.tile_index[tile]) * shape.tile / shape.group;
      EXPECT_TRUE(!plan.tile_valid[tile] || static_cast<std::int32_t>(first) <
                                                plan.query_start[row + 1] - plan.query_start[row]);
    }
    // Two tokens may share an entry here, and either id is then the one that stands.
    HostPlan expected = expected_plan(BatchView(block.data(), layout), limits, shape);
    plan.history.clear();
    expected.history.clear();
    EXPECT_TRUE(plan == expected);
  }
}

TEST_F(StepPlanTest, RefusesMoreRowsThanItPlans) {
  const BatchLayout layout({4, 4, 1, 1, 4});
  const DeviceArray<std::int32_t> inputs(Ints(layout.input_words(), 0));
  const BatchView batch(inputs.data(), layout);
  const HistoryView none(batch, runtime::Exec(nullptr, nullptr), {}, kVocab);
  EXPECT_THROW(enqueue_step_plan(nullptr, batch, layout.limits(), kVocab, none,
                                 {.rows = kMaxPlanRows + 1, .tokens = 4}, StepPlan{}),
               runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::models::llama
