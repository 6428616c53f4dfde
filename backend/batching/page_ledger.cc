#include "backend/batching/page_ledger.h"

#include <string>

#include "backend/runtime/error.h"

namespace syncopate::batching {

PageLedger::PageLedger(std::uint32_t pages)
    : owner_(pages, kFree), free_(pages), retired_(pages), free_count_(pages) {
  // The stack hands out page 0 first, so that runs are easy to read.
  for (std::uint32_t i = 0; i < pages; ++i) free_[i] = pages - 1 - i;
}

std::uint32_t PageLedger::take(std::uint32_t owner) {
  if (free_count_ == 0) throw runtime::UsageError("page ledger: no free page is left");
  const std::uint32_t page = free_[--free_count_];
  owner_[page] = owner;
  return page;
}

void PageLedger::retire(std::uint32_t owner, std::span<const std::int32_t> pages,
                        std::int32_t last_step) {
  for (const std::int32_t id : pages) {
    const auto page = static_cast<std::uint32_t>(id);
    if (page >= owner_.size() || owner_[page] != owner) {
      throw runtime::UsageError("page ledger: page " + std::to_string(id) +
                                " given back by request " + std::to_string(owner) +
                                ", which does not own it");
    }
    owner_[page] = kRetired;
    const std::uint32_t at = (retired_first_ + retired_count_++) % this->pages();
    retired_[at] = {page, last_step};
  }
  complete(completed_);  // nothing may be in flight any more
}

std::uint32_t PageLedger::complete(std::int32_t step) {
  completed_ = step;
  std::uint32_t freed = 0;
  while (retired_count_ > 0 && retired_[retired_first_].last_step <= step) {
    const std::uint32_t page = retired_[retired_first_].page;
    owner_[page] = kFree;
    free_[free_count_++] = page;
    retired_first_ = (retired_first_ + 1) % pages();
    --retired_count_;
    ++freed;
  }
  return freed;
}

}  // namespace syncopate::batching
