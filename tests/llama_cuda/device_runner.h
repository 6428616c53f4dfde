// A PagedRunner on the device, which shows the logits.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/call.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/stream.h"
#include "backend/models/llama/cuda/device_llama.h"
#include "tests/models/paged_runner.h"

namespace syncopate::models::llama {

using Logits = std::vector<std::vector<float>>;

/// As the runner on the host, all of the device's memory begins as bits that are all 1.
class DeviceRunner {
 public:
  DeviceRunner(const DeviceLlama& model, const BatchLimits& limits)
      : model_(model),
        layout_(limits),
        memory_{make(layout_.input_bytes()), make(layout_.output_bytes()),
                make(limits.pages * model.kv_page_bytes(limits)),
                make(std::uint64_t{limits.pages} * limits.page_tokens * 4),
                make(model.workspace_bytes(limits))},
        stream_(cuda::make_stream(runtime::StreamKind::kNonBlocking)) {}

  /// Runs `rows` and returns the logits of each row's last token.
  Logits step(const std::vector<RunnerRow>& rows) {
    run(rows);
    const std::size_t vocab = model_.vocab();
    Logits logits(rows.size(), std::vector<float>(vocab));
    const std::byte* from = at(4) + model_.logits_offset(layout_.limits());
    for (std::vector<float>& row : logits) {
      SYNCOPATE_CUDA_CALL(cudaMemcpy(row.data(), from, vocab * 4, cudaMemcpyDeviceToHost));
      from += vocab * 4;
    }
    return logits;
  }

  /// Runs `rows` and returns each row's next id.
  Ids next(const std::vector<RunnerRow>& rows) {
    run(rows);
    Ids ids(rows.size());
    SYNCOPATE_CUDA_CALL(cudaMemcpy(ids.data(), at(1), ids.size() * 4, cudaMemcpyDeviceToHost));
    return ids;
  }

 private:
  static cuda::DeviceMemory make(std::uint64_t bytes) {
    cuda::DeviceMemory memory = cuda::make_device_memory(bytes);
    SYNCOPATE_CUDA_CALL(cudaMemset(memory.get(), 0xff, bytes));
    return memory;
  }
  std::byte* at(std::size_t buffer) const { return static_cast<std::byte*>(memory_[buffer].get()); }

  void run(const std::vector<RunnerRow>& rows) {
    const Ids block = input_block(layout_, rows);
    SYNCOPATE_CUDA_CALL(
        cudaMemcpy(at(0), block.data(), layout_.input_bytes(), cudaMemcpyHostToDevice));
    const auto count = static_cast<std::uint32_t>(rows.size());
    const auto tokens = static_cast<std::uint32_t>(block[BatchLayout::kTokens]);
    const runtime::Kernel kernel = model_.forward(
        layout_, {.inputs = {0}, .outputs = {1}, .kv = {2}, .history = {3}, .workspace = {4}},
        model_.graph_key(count, tokens, 0));
    const std::array bases{at(0), at(1), at(2), at(3), at(4)};
    runtime::Exec exec(bases.data(), stream_.get());
    kernel.cuda(exec);
    SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream_.get()));
  }

  const DeviceLlama& model_;
  BatchLayout layout_;
  std::array<cuda::DeviceMemory, 5> memory_;
  cuda::OwnedStream stream_;
};

}  // namespace syncopate::models::llama
