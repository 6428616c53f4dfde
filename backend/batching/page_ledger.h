// The KV pool's books: every page has exactly one owner at any time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syncopate::batching {

/// A page is free, owned by one request, or retired: given back by a request that a step in flight
/// may still read or write, and free once that step is done. That is the difference from handing
/// pages out at once: no step ever meets another request's data, whatever stream wrote it.
///
/// Not thread-safe. Does not allocate after construction.
class PageLedger {
 public:
  explicit PageLedger(std::uint32_t pages);

  std::uint32_t pages() const { return static_cast<std::uint32_t>(owner_.size()); }
  std::uint32_t free_pages() const { return free_count_; }
  std::uint32_t retired_pages() const { return retired_count_; }

  /// Takes a free page for `owner` (a request's index). Throws runtime::UsageError when none is
  /// left: the caller has promised more than there is.
  std::uint32_t take(std::uint32_t owner);

  /// `owner` gives back `pages`; they are free once step `last_step` is done, at once if it is.
  /// Steps must not go backwards from call to call. Throws runtime::UsageError if a page is not the
  /// owner's.
  void retire(std::uint32_t owner, std::span<const std::int32_t> pages, std::int32_t last_step);

  /// Step `step` and all before it are done. Returns how many pages became free.
  std::uint32_t complete(std::int32_t step);

  /// The owner of a page, or kFree or kRetired.
  std::uint32_t owner(std::uint32_t page) const { return owner_[page]; }
  static constexpr std::uint32_t kFree = UINT32_MAX;
  static constexpr std::uint32_t kRetired = UINT32_MAX - 1;

 private:
  struct Retired {
    std::uint32_t page;
    std::int32_t last_step;
  };

  std::vector<std::uint32_t> owner_;
  std::vector<std::uint32_t> free_;  // a stack; the first free_count_ entries
  std::vector<Retired> retired_;     // a ring, oldest first
  std::uint32_t free_count_ = 0;
  std::uint32_t retired_first_ = 0;
  std::uint32_t retired_count_ = 0;
  std::int32_t completed_ = -1;  // the last step that is done
};

}  // namespace syncopate::batching
