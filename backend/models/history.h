// The ids behind the KV entries: what a repetition penalty looks at.
#pragma once

#include <cstdint>

#include "backend/models/batch_view.h"
#include "backend/models/host_device.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models {

/// A view of StepBuffers::history. It is addressed through the block table, as the KV pool is: so
/// ids stand and fall with the pages that hold their tokens, whichever row or slot a request gets,
/// and are written again when it is computed again. Ids read are inside the vocabulary. Trivially
/// copyable.
class HistoryView {
 public:
  /// Of `buffer`, which may be none. Made on the host, as BatchView is.
  HistoryView(const BatchView& batch, const runtime::Exec& exec, runtime::Buffer buffer,
              std::uint32_t vocab)
      : batch_(batch), ids_(buffer ? exec.data<std::int32_t>(buffer) : nullptr), vocab_(vocab) {}

  SYNCOPATE_HOST_DEVICE explicit operator bool() const { return ids_ != nullptr; }

  /// Notes the id of a token of the batch.
  SYNCOPATE_HOST_DEVICE void write(std::uint32_t row, std::uint32_t token) const {
    ids_[batch_.kv_entry(row, batch_.position(token))] =
        static_cast<std::int32_t>(batch_.id(token, vocab_));
  }
  /// The id at `position` of a row, below its kv_length.
  SYNCOPATE_HOST_DEVICE std::uint32_t id(std::uint32_t row, std::uint32_t position) const {
    const auto id = static_cast<std::uint32_t>(ids_[batch_.kv_entry(row, position)]);
    return id < vocab_ ? id : vocab_ - 1;
  }

 private:
  BatchView batch_;
  std::int32_t* ids_;
  std::uint32_t vocab_;
};

/// Notes the ids of all tokens of the batch, where there is a history.
inline void write_all(const BatchView& batch, const HistoryView& history) {
  if (!history) return;
  const std::uint32_t rows = batch.rows();
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t token = batch.row_start(row); token < batch.row_end(row); ++token) {
      history.write(row, token);
    }
  }
}

}  // namespace syncopate::models
