#include "backend/models/llama/cuda/upload.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <span>
#include <thread>

#include "backend/cuda/call.h"
#include "backend/cuda/event.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/stream.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;  // Elements of a staging buffer.
constexpr unsigned kMostThreads = 8;

/// A part of a tensor that fits a staging buffer.
struct Chunk {
  const Upload* upload;
  std::uint64_t first, size;
};

std::vector<Chunk> split(const std::vector<Upload>& uploads) {
  std::vector<Chunk> chunks;
  for (const Upload& upload : uploads) {
    const std::uint64_t size = upload.from.size();
    for (std::uint64_t first = 0; first < size; first += kChunk)
      chunks.push_back({&upload, first, std::min(kChunk, size - first)});
  }
  return chunks;
}

void stage(const Chunk& chunk, Bf16* out) {
  const FloatTensor& from = chunk.upload->from;
  if (from.type == FloatTensor::Type::kBf16) {
    std::memcpy(out, from.bytes.data() + 2 * chunk.first, 2 * chunk.size);
    return;
  }
  std::array<float, 4096> block;  // Small enough for the nearest cache.
  for (std::uint64_t done = 0; done < chunk.size; done += block.size()) {
    const std::span<float> values(block.data(), std::min(block.size(), chunk.size - done));
    from.read(chunk.first + done, values);
    std::ranges::transform(values, out + done, [](float value) { return Bf16(value); });
  }
}

/// Two pinned buffers: while one is on its way the other is filled.
class Stager {
 public:
  void send(const Chunk& chunk) {
    Buffer& buffer = buffers_[next_];
    next_ ^= 1;
    auto* const values = static_cast<Bf16*>(buffer.memory.get());
    SYNCOPATE_CUDA_CALL(cudaEventSynchronize(buffer.sent.get()));
    stage(chunk, values);
    SYNCOPATE_CUDA_CALL(cudaMemcpyAsync(chunk.upload->to + chunk.first, values,
                                        chunk.size * sizeof(Bf16), cudaMemcpyHostToDevice,
                                        stream_.get()));
    SYNCOPATE_CUDA_CALL(cudaEventRecord(buffer.sent.get(), stream_.get()));
  }
  void finish() { SYNCOPATE_CUDA_CALL(cudaStreamSynchronize(stream_.get())); }

 private:
  struct Buffer {
    cuda::PinnedMemory memory = cuda::make_pinned_memory(kChunk * sizeof(Bf16));
    cuda::OwnedEvent sent = cuda::make_event(cuda::EventUse::kOrder);
  };
  cuda::OwnedStream stream_ = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
};

}  // namespace

void upload(const std::vector<Upload>& uploads) {
  const std::vector<Chunk> chunks = split(uploads);
  int device = 0;
  SYNCOPATE_CUDA_CALL(cudaGetDevice(&device));
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    SYNCOPATE_CUDA_CALL(cudaSetDevice(device));
    Stager stager;
    for (std::size_t i = next++; i < chunks.size(); i = next++) stager.send(chunks[i]);
    stager.finish();
  };
  const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
  const std::size_t threads = std::min({chunks.size(), cores, std::size_t{kMostThreads}});
  std::vector<std::future<void>> workers;
  for (std::size_t i = 0; i < threads; ++i) workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& worker : workers) worker.wait();
  for (std::future<void>& worker : workers) worker.get();  // Rethrows what it threw.
}

}  // namespace syncopate::models::llama
