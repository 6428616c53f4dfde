// The room for CUPTI's records: a fixed number of buffers in one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace syncopate::cuda {

/// CUPTI takes buffers and gives them back filled, from threads of its own too. A filled one is
/// kept. Thread-safe.
class RecordBuffers {
 public:
  /// Throws UnavailableError when the addresses are not to be had. Memory is used on first touch.
  RecordBuffers(std::size_t buffers, std::size_t buffer_bytes);
  /// What CUPTI still holds is left to it: its memory then stays with the process.
  ~RecordBuffers();
  RecordBuffers(const RecordBuffers&) = delete;
  RecordBuffers& operator=(const RecordBuffers&) = delete;

  std::size_t buffer_bytes() const { return buffer_bytes_; }

  /// A zero-filled buffer, or null when all are taken, which is counted.
  std::uint8_t* take();
  /// `buffer` comes back with `used` bytes of records.
  void give_back(std::uint8_t* buffer, std::size_t used);

  /// How often there was none left.
  std::size_t refused() const;
  /// The filled ones, in the order of their return; valid while nothing else is called.
  std::span<const std::span<std::uint8_t>> filled() const { return filled_; }

 private:
  const std::size_t buffer_bytes_;
  const std::size_t total_bytes_;
  std::uint8_t* memory_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
  std::vector<std::span<std::uint8_t>> filled_;
  std::size_t held_ = 0;  // by CUPTI
  std::size_t refused_ = 0;
};

}  // namespace syncopate::cuda
