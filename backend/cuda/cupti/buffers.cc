#include "backend/cuda/cupti/buffers.h"

#include <sys/mman.h>

#include <string>

#include "backend/runtime/error.h"

namespace syncopate::cuda {

RecordBuffers::RecordBuffers(std::size_t buffers, std::size_t buffer_bytes)
    : buffer_bytes_(buffer_bytes), total_bytes_(buffers * buffer_bytes) {
  void* memory = ::mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw runtime::UnavailableError("no " + std::to_string(total_bytes_) +
                                    " bytes for records of kernels");
  }
  ::madvise(memory, total_bytes_, MADV_HUGEPAGE);  // advice: a refusal changes nothing
  memory_ = static_cast<std::uint8_t*>(memory);
  free_.reserve(buffers);
  filled_.reserve(buffers);
  for (std::size_t i = buffers; i-- > 0;) free_.push_back(memory_ + i * buffer_bytes_);
}

RecordBuffers::~RecordBuffers() {
  if (held_ == 0) ::munmap(memory_, total_bytes_);
}

std::uint8_t* RecordBuffers::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    ++refused_;
    return nullptr;
  }
  std::uint8_t* buffer = free_.back();
  free_.pop_back();
  ++held_;
  return buffer;
}

void RecordBuffers::give_back(std::uint8_t* buffer, std::size_t used) {
  const std::lock_guard lock(mutex_);
  --held_;
  if (used == 0) {
    free_.push_back(buffer);
  } else {
    filled_.emplace_back(buffer, used);
  }
}

std::size_t RecordBuffers::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace syncopate::cuda
