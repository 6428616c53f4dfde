#include <algorithm>
#include <string>

#include "backend/cuda/call.h"
#include "backend/models/llama/cuda/block_scan.cuh"
#include "backend/models/llama/cuda/step_plan.h"
#include "backend/runtime/error.h"

namespace syncopate::models::llama {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kRowsPerThread = kMaxPlanRows / kThreads;
constexpr unsigned kMaxBlocks = 256;

// Gives out arrays one behind the other.
class Arrays {
 public:
  explicit Arrays(std::byte* memory) : begin_(reinterpret_cast<std::uintptr_t>(memory)) {}

  template <class T>
  void take(T*& array, std::size_t count) {
    array = reinterpret_cast<T*>(begin_ + bytes_);
    constexpr std::size_t kAlignment = 16;
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::uintptr_t begin_;
  std::size_t bytes_ = 0;
};

std::size_t lay_out(StepPlan& plan, std::byte* memory, const StepShape& shape,
                    std::uint32_t pages_per_row) {
  Arrays arrays(memory);
  arrays.take(plan.entry, shape.tokens);
  arrays.take(plan.position, shape.tokens);
  arrays.take(plan.id, shape.tokens);
  arrays.take(plan.last_token, shape.rows);
  arrays.take(plan.query_start, shape.rows + 1);
  arrays.take(plan.page_start, shape.rows + 1);
  arrays.take(plan.pages, std::size_t{shape.rows} * pages_per_row);
  arrays.take(plan.last_page_tokens, shape.rows);
  arrays.take(plan.tile_row, shape.tiles());
  arrays.take(plan.tile_index, shape.tiles());
  arrays.take(plan.tile_valid, shape.tiles());
  return arrays.bytes();
}

// What a block works out for itself, in shared memory: the first token and the first tile of each
// row; behind the last row, where both end.
struct Starts {
  std::uint32_t rows, tokens;  // of the batch
  std::uint32_t token[kMaxPlanRows + 1];
  std::uint32_t tile[kMaxPlanRows + 1];
};

// The rows' sizes are read once for the block: in a racy run the inputs may change meanwhile, and
// threads must agree.
__device__ void find_starts(const BatchView& batch, const StepShape& shape, Starts& starts) {
  if (threadIdx.x == 0) {
    starts.rows = min(batch.rows(), shape.rows);
    starts.tokens = min(batch.tokens(), shape.tokens);
    starts.token[0] = min(batch.row_start(0), starts.tokens);
    starts.tile[0] = 0;
  }
  __syncthreads();

  // A thread's rows are neighbours: it scans them, and the block the threads' results.
  const std::uint32_t first = threadIdx.x * kRowsPerThread;
  std::uint32_t values[kRowsPerThread];
  const auto scan = [&](auto join) {
    for (unsigned i = 1; i < kRowsPerThread; ++i) values[i] = join(values[i - 1], values[i]);
    const std::uint32_t before =
        block_scan<kThreads>(values[kRowsPerThread - 1], std::uint32_t{0}, join).before;
    for (std::uint32_t& value : values) value = join(before, value);
  };

  for (unsigned i = 0; i < kRowsPerThread; ++i) {
    const std::uint32_t row = first + i;
    values[i] = row < starts.rows ? min(batch.row_start(row + 1), starts.tokens) : 0;
  }
  scan([](std::uint32_t a, std::uint32_t b) { return max(a, b); });
  for (unsigned i = 0; i < kRowsPerThread; ++i) {
    starts.token[first + i + 1] = max(values[i], starts.token[0]);
  }
  __syncthreads();

  for (unsigned i = 0; i < kRowsPerThread; ++i) {
    const std::uint32_t tokens = starts.token[first + i + 1] - starts.token[first + i];
    values[i] = (tokens * shape.group + shape.tile - 1) / shape.tile;
  }
  scan([](std::uint32_t a, std::uint32_t b) { return a + b; });
  for (unsigned i = 0; i < kRowsPerThread; ++i) starts.tile[first + i + 1] = values[i];
  __syncthreads();
}

// The row that `place` belongs to. `starts` [rows + 1] do not fall; starts[0] <= place <
// starts[rows].
__device__ std::uint32_t row_of(const std::uint32_t* starts, std::uint32_t rows,
                                std::uint32_t place) {
  std::uint32_t low = 0, high = rows;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (starts[middle] <= place ? low : high) = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kThreads)
    plan_step(BatchView batch, std::uint32_t pages_per_row, std::uint32_t page_tokens,
              std::uint32_t vocab, HistoryView history, StepShape shape, StepPlan plan) {
  __shared__ Starts starts;
  find_starts(batch, shape, starts);
  const std::uint32_t rows = starts.rows;
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * kThreads;

  for (std::uint32_t i = thread; i < shape.rows * pages_per_row; i += threads) {
    const std::uint32_t row = i / pages_per_row;
    plan.pages[i] =
        row < rows ? static_cast<std::int32_t>(batch.page(row, i - row * pages_per_row)) : 0;
  }
  for (std::uint32_t token = thread; token < shape.tokens; token += threads) {
    std::uint32_t position = 0, id = 0;
    std::int32_t entry = -1;
    if (token >= starts.token[0] && token < starts.token[rows]) {
      const std::uint32_t row = row_of(starts.token, rows, token);
      position = batch.position(token);
      id = batch.id(token, vocab);
      entry = static_cast<std::int32_t>(batch.kv_entry(row, position));
      if (history) history.write(row, token);
    }
    plan.entry[token] = entry;
    plan.position[token] = static_cast<std::int32_t>(position);
    plan.id[token] = static_cast<std::int32_t>(id);
  }
  for (std::uint32_t row = thread; row <= shape.rows; row += threads) {
    const std::uint32_t begin = starts.token[row];
    plan.query_start[row] = static_cast<std::int32_t>(begin);
    plan.page_start[row] = static_cast<std::int32_t>(row * pages_per_row);
    if (row == shape.rows) continue;
    const std::uint32_t end = starts.token[row + 1];
    plan.last_token[row] = end > begin ? static_cast<std::int32_t>(end - 1) : 0;
    const std::uint32_t length = row < rows ? batch.kv_length(row) : 0;
    plan.last_page_tokens[row] =
        static_cast<std::int32_t>(length - (pages_per_row - 1) * page_tokens);
  }
  for (std::uint32_t tile = thread; tile < shape.tiles(); tile += threads) {
    const bool valid = tile < starts.tile[rows];
    const std::uint32_t row = valid ? row_of(starts.tile, rows, tile) : 0;
    plan.tile_row[tile] = static_cast<std::int32_t>(row);
    plan.tile_index[tile] = valid ? static_cast<std::int32_t>(tile - starts.tile[row]) : 0;
    plan.tile_valid[tile] = valid;
  }
}

}  // namespace

std::size_t step_plan_bytes(const StepShape& largest, std::uint32_t pages_per_row) {
  StepPlan plan;
  return lay_out(plan, nullptr, largest, pages_per_row);
}

StepPlan step_plan_at(std::byte* memory, const StepShape& shape, std::uint32_t pages_per_row) {
  StepPlan plan;
  lay_out(plan, memory, shape, pages_per_row);
  return plan;
}

void enqueue_step_plan(cudaStream_t stream, const BatchView& batch, const BatchLimits& limits,
                       std::uint32_t vocab, const HistoryView& history, const StepShape& shape,
                       const StepPlan& plan) {
  if (shape.rows > kMaxPlanRows) {
    throw runtime::UsageError("a step of " + std::to_string(shape.rows) + " rows: at most " +
                              std::to_string(kMaxPlanRows) + " can be planned");
  }
  const std::uint32_t widest = std::max(shape.tokens, shape.rows * limits.pages_per_row);
  const unsigned blocks = std::clamp((widest + kThreads - 1) / kThreads, 1U, kMaxBlocks);
  plan_step<<<blocks, kThreads, 0, stream>>>(batch, limits.pages_per_row, limits.page_tokens, vocab,
                                             history, shape, plan);
  SYNCOPATE_CUDA_CALL(cudaGetLastError());
}

}  // namespace syncopate::models::llama
