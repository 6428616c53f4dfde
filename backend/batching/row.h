// A request's row in the batch.
#pragma once

#include <cstdint>

namespace syncopate::batching {

/// Owned by the Scheduler, which plans with it; SlotWriter moves it on.
struct Row {
  std::uint32_t request = 0;
  std::uint32_t seat = 0;      ///< Which block table it holds.
  std::uint64_t stay = 0;      ///< Numbers the times that a request took a row; from 1.
  std::uint64_t rank = 0;      ///< RequestBook::rank(): the highest loses its pages first.
  std::uint32_t position = 0;  ///< Of the first token that its next step computes.
  std::uint32_t target = 0;    ///< It prefills up to here: ids before it were known when it joined.
  std::uint32_t end_position = 0;  ///< Where all its tokens have been planned.
  std::uint32_t pages = 0;
  std::uint32_t page_end = 0;      ///< Position at which it needs a page more.
  std::uint64_t next_entry = 0;    ///< Byte in the KV pool of its next token's entry; in decode.
  std::int32_t previous_row = -1;  ///< Its row in the step planned last, if that samples for it.
  std::uint32_t take = 0;          ///< Tokens in the step under planning; 0: it sits that one out.
  bool gone = false;               ///< It leaves with the step under planning.

  bool decodes() const { return position >= target; }
  /// Whether its next `count` tokens end with one that is sampled from.
  bool samples(std::uint32_t count) const { return position + count >= target; }
};

}  // namespace syncopate::batching
