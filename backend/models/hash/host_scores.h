// A row's scores on the host, for Chooser.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>

#include "backend/models/hash/hash_math.h"
#include "backend/models/hash/weight.h"
#include "backend/models/history.h"

namespace syncopate::models::hash {

/// The scores of all ids after a row's `state`, penalised where the row's first `length` positions
/// hold the id. They are worked out anew in each pass. Which ids occur is noted for a window of the
/// vocabulary at a time, so that the memory is the same for any vocabulary; most have one window.
class HostScores {
 public:
  /// `penalty` is RowSampling's; none without a history.
  HostScores(std::uint32_t state, std::uint32_t vocab, std::uint32_t penalty,
             const HistoryView& history, std::uint32_t row, std::uint32_t length)
      : state_(state),
        vocab_(vocab),
        penalty_(history ? penalty : RowSampling::kOne),
        history_(history),
        row_(row),
        length_(length) {}

  template <class T, class Of, class Join>
  T reduce(T result, Of of, Join join) {
    for (std::uint32_t begin = 0; begin < vocab_; begin += kWindow) {
      const std::uint32_t end = std::min(begin + kWindow, vocab_);
      if (penalty_ == RowSampling::kOne) {
        for (std::uint32_t id = begin; id < end; ++id) {
          result = join(result, of(id, score(logit(state_, id))));
        }
      } else {
        note(begin);
        for (std::uint32_t id = begin; id < end; ++id) {
          const std::int64_t plain = score(logit(state_, id));
          result = join(result, of(id, seen_[id - begin] ? penalised(plain, penalty_) : plain));
        }
      }
    }
    return result;
  }

 private:
  static constexpr std::uint32_t kWindow = 1U << 15;

  void note(std::uint32_t begin) {
    if (noted_ == begin) return;
    noted_ = begin;
    seen_.reset();
    for (std::uint32_t position = 0; position < length_; ++position) {
      const std::uint32_t id = history_.id(row_, position);
      if (id - begin < kWindow) seen_[id - begin] = true;
    }
  }

  std::uint32_t state_, vocab_, penalty_;
  HistoryView history_;
  std::uint32_t row_, length_;
  std::uint32_t noted_ = UINT32_MAX;  // the window's first id
  std::bitset<kWindow> seen_;
};

}  // namespace syncopate::models::hash
