#include "backend/cuda/flags.h"

#include <algorithm>
#include <atomic>

namespace syncopate::cuda {
namespace {

constexpr std::size_t kLineWords = 8;  // a cache line a word: hosts and devices poll them
constexpr std::size_t kBlockWords = 64;

CUdeviceptr address(const std::uint64_t* word) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(word));
}

}  // namespace

std::uint64_t* Flags::take_word() {
  const std::size_t place = words_.size() % kBlockWords;
  if (place == 0) {
    blocks_.push_back(make_pinned_memory(kBlockWords * kLineWords * sizeof(std::uint64_t)));
  }
  return static_cast<std::uint64_t*>(blocks_.back().get()) + place * kLineWords;
}

void Flags::create(runtime::Flag flag, std::uint64_t cycle) {
  if (flags_.size() <= flag.id) flags_.resize(flag.id + std::size_t{1});
  flags_[flag.id] = {words_.size(), cycle};
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(cycle, 1); ++i) {
    words_.push_back(take_word());
  }
}

void Flags::write(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const {
  const Words& words = flags_[flag.id];
  const bool ring = words.cycle != 0;
  const std::uint64_t* word = words_[words.first + (ring ? value % words.cycle : 0)];
  SYNCOPATE_CUDA_CALL(
      cuStreamWriteValue64(stream, address(word), ring ? 1 : value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

void Flags::wait(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const {
  const Words& words = flags_[flag.id];
  if (words.cycle == 0) {
    SYNCOPATE_CUDA_CALL(
        cuStreamWaitValue64(stream, address(words_[words.first]), value, CU_STREAM_WAIT_VALUE_GEQ));
    return;
  }
  const CUdeviceptr word = address(words_[words.first + value % words.cycle]);
  CUstreamBatchMemOpParams seen_and_taken[2] = {};  // in this order
  seen_and_taken[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  seen_and_taken[0].waitValue.address = word;
  seen_and_taken[0].waitValue.value64 = 1;
  seen_and_taken[0].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  seen_and_taken[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  seen_and_taken[1].writeValue.address = word;
  seen_and_taken[1].writeValue.value64 = 0;
  seen_and_taken[1].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  SYNCOPATE_CUDA_CALL(cuStreamBatchMemOp(stream, 2, seen_and_taken, 0));
}

bool Flags::reached(runtime::Flag flag, std::uint64_t value) const {
  std::uint64_t* word = words_[flags_[flag.id].first];
  return std::atomic_ref(*word).load(std::memory_order_acquire) >= value;
}

void Flags::release_all() const {
  for (std::uint64_t* word : words_) {
    std::atomic_ref(*word).store(INT64_MAX, std::memory_order_relaxed);
  }
}

}  // namespace syncopate::cuda
