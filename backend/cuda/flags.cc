#include "backend/cuda/flags.h"

#include <atomic>

namespace syncopate::cuda {
namespace {

constexpr std::size_t kLineWords = 8;  // a cache line a flag: hosts and devices poll them
constexpr std::size_t kBlockFlags = 64;

CUdeviceptr address(const std::uint64_t* flag) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(flag));
}

}  // namespace

void Flags::create(runtime::Flag flag) {
  while (flags_.size() <= flag.id) {
    blocks_.push_back(make_pinned_memory(kBlockFlags * kLineWords * sizeof(std::uint64_t)));
    auto* words = static_cast<std::uint64_t*>(blocks_.back().get());
    for (std::size_t i = 0; i < kBlockFlags; ++i) flags_.push_back(words + i * kLineWords);
  }
}

void Flags::write(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const {
  SYNCOPATE_CUDA_CALL(
      cuStreamWriteValue64(stream, address(flags_[flag.id]), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

void Flags::wait(cudaStream_t stream, runtime::Flag flag, std::uint64_t value) const {
  SYNCOPATE_CUDA_CALL(
      cuStreamWaitValue64(stream, address(flags_[flag.id]), value, CU_STREAM_WAIT_VALUE_GEQ));
}

void Flags::release_all() const {
  for (std::uint64_t* flag : flags_) {
    std::atomic_ref(*flag).store(INT64_MAX, std::memory_order_relaxed);
  }
}

}  // namespace syncopate::cuda
