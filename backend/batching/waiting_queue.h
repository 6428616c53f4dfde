// The requests that have come and are in no batch: who is next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace syncopate::batching {

/// A binary heap by rank: the lowest is next. A request that lost its pages keeps its rank, and so
/// goes before those that came after it. Not thread-safe; does not allocate after reserve().
class WaitingQueue {
 public:
  struct Entry {
    std::uint64_t rank = 0;
    std::uint32_t request = 0;
    /// Tokens that must be known before it can be computed again: those that were in flight when it
    /// lost its pages among them.
    std::uint32_t tokens = 0;
    friend bool operator>(const Entry& a, const Entry& b) { return a.rank > b.rank; }
  };

  void reserve(std::size_t requests) { heap_.reserve(requests); }
  bool empty() const { return heap_.empty(); }
  const Entry& top() const { return heap_.front(); }
  void push(const Entry& entry) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, std::greater<>());
  }
  void pop() {
    std::ranges::pop_heap(heap_, std::greater<>());
    heap_.pop_back();
  }

 private:
  std::vector<Entry> heap_;
};

}  // namespace syncopate::batching
