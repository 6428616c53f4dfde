// A first-in first-out queue of plain records that allocates only when it is longer than ever
// before.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace syncopate::sim {

/// Not thread-safe.
template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  /// The oldest record; there must be one.
  T& front() { return records_[head_ & mask_]; }
  const T& front() const { return records_[head_ & mask_]; }

  /// Makes room now for as many as a new queue takes.
  void reserve() {
    if (records_ == nullptr) grow();
  }

  void push(const T& record) {
    if (records_ == nullptr || size() > mask_) grow();
    records_[tail_++ & mask_] = record;
  }
  void pop() { ++head_; }

 private:
  void grow() {
    const std::size_t capacity = records_ == nullptr ? 16 : 2 * (mask_ + 1);
    auto grown = std::make_unique_for_overwrite<T[]>(capacity);
    const std::size_t kept = size();
    for (std::size_t i = 0; i < kept; ++i) grown[i] = records_[(head_ + i) & mask_];
    records_ = std::move(grown);
    mask_ = capacity - 1;
    head_ = 0;
    tail_ = kept;
  }

  std::unique_ptr<T[]> records_;
  std::size_t mask_ = 0;
  std::size_t head_ = 0;  // counts on; the place is its value modulo the capacity
  std::size_t tail_ = 0;
};

}  // namespace syncopate::sim
