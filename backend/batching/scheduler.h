// The scheduler: decides who is in the next step and fills the step's inputs; takes the step's
// results and moves the requests on. It knows slots and pages, not streams or events.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batching/kv_tables.h"
#include "backend/batching/request.h"
#include "backend/batching/request_book.h"
#include "backend/batching/row.h"
#include "backend/batching/slot.h"
#include "backend/batching/slot_writer.h"
#include "backend/batching/waiting_queue.h"
#include "backend/models/batch_layout.h"

namespace syncopate::batching {

/// Who gets a step's tokens first.
enum class TokenPolicy : std::uint8_t {
  kDecodeFirst,   ///< One for each row that decodes; prompts share what is left.
  kPrefillFirst,  ///< Prompts; rows that decode get what is left, or sit the step out.
};

/// How a step's tokens are shared out.
struct SchedulerOptions {
  TokenPolicy policy = TokenPolicy::kDecodeFirst;
  std::uint32_t chunk_tokens = 0;  ///< Most tokens of one prompt in a step; 0: as the step has.
};

/// Policy. Requests wait by priority, and among equals first come, first served; none overtakes
/// another. One is admitted when a row, a token of the step, and the pages of its whole prompt are
/// there. A prompt that is longer than what a step has left is prefilled in chunks. Answers take
/// their pages as they grow; when none is left, the request that would be served last loses its
/// pages and its row and waits again, to be computed again from its prompt and the tokens that it
/// has. The request that is served first never does, so some request always gets on.
///
/// Steps are planned before the results of earlier ones are known. What is known at plan time: how
/// many tokens each request has in flight, so a request that ends by length gets no row in vain. An
/// early end (EOS, stop, cancellation) is known only at update(): rows of it already in flight are
/// discarded there.
///
/// Not thread-safe. Does not allocate after construction, but to refuse a request.
class Scheduler {
 public:
  /// `layout` and `requests` must outlive the scheduler. Requests that can never be served are
  /// refused, each by itself. Throws runtime::UsageError for limits that make no sense.
  Scheduler(const models::BatchLayout& layout, const KvPool& kv, const ModelBounds& bounds,
            const SchedulerOptions& options, std::span<const Request> requests);

  /// When a request arrives or is given up next; kNever: none, or all have ended.
  runtime::Nanos arrival(std::uint32_t request) const { return book_.arrival(request); }
  runtime::Nanos next_event() const { return book_.next_event(); }
  /// Lets all happen that happens up to `now`, which never goes back.
  void advance(runtime::Nanos now);
  /// Ends a request, wherever it is; nothing if it has ended.
  void cancel(std::uint32_t request);

  /// Plans step `step` into `slot`: fills its pinned inputs, rows, cost and KV writes, and notes in
  /// `rows` whose rows they are. With `previous_in_flight` the ids of the step before are not known
  /// on the host: they are carried over on the device, and carry[] says from which row. Returns
  /// false, and leaves the slot as it was, if there is nothing to compute until some step in flight
  /// is done, or at all.
  bool plan(std::int32_t step, Slot& slot, StepRows& rows, bool previous_in_flight);

  /// Takes a step's results: one id a row. Steps complete in order. Returns how many of its rows
  /// were discarded.
  std::uint32_t update(const StepRows& rows, const std::int32_t* ids, const OnToken& on_token = {});

  bool finished() const { return book_.all_ended(); }
  /// Whether a plan() may find something to compute: some row has tokens to plan, or some request
  /// waits.
  bool has_work() const;
  RequestResult result(std::uint32_t request) const { return book_.result(request); }
  std::vector<std::int32_t> token_steps(std::uint32_t request) const {
    return book_.token_steps(request);
  }
  std::uint64_t tokens_done() const { return book_.tokens_taken(); }
  /// All rows; those of the step planned last come first, in its order.
  std::span<const Row> rows() const { return rows_; }
  const KvTables& tables() const { return tables_; }

  // Of the step planned last:
  std::uint32_t changed_rows() const { return changed_rows_; }  ///< Joined, left or moved.
  std::uint32_t prefill_rows() const { return prefills_; }
  std::uint32_t preempted() const { return preempted_; }  ///< Since the step before it.

  /// KvTables::verify() of all rows.
  void verify() const { tables_.verify(rows_); }

 private:
  void took_leave();
  bool is_steady() const;
  void compose();
  void begin_rows();
  void take_decodes();
  void take_prefills();
  void sort_takers();
  std::uint32_t chunk(const Row& row) const;
  void admit();
  bool secure(Row& row, std::uint32_t entries);
  Row& last_served();
  void preempt(Row& row);
  void leave(Row& row);
  void arrange();
  bool all_planned_or_ended(const Row& row) const;
  bool next_id_is_there(const Row& row) const;
  std::uint32_t pages_spoken_for() const;
  void count_moved();
  void note_rows(StepRows& rows);

  const models::BatchLayout& layout_;
  const SchedulerOptions options_;
  RequestBook book_;
  KvTables tables_;
  SlotWriter writer_;
  WaitingQueue waiting_;

  // The rows: those that decode in the step planned last, those that prefill in it, and those that
  // sit it out.
  std::vector<Row> rows_;    // while composing, with those that leave
  std::uint32_t alive_ = 0;  // of them, those that do not leave
  std::uint32_t decodes_ = 0;
  std::uint32_t prefills_ = 0;
  std::vector<Row> others_;            // scratch of arrange()
  std::vector<std::uint32_t> takers_;  // scratch of take_decodes() and take_prefills()

  std::uint32_t budget_ = 0;  // tokens left in the step under planning
  std::int32_t planned_step_ = -1;
  std::uint64_t stays_ = 0;
  std::uint64_t filling_ = 0;
  bool moved_ = false;  // the last plan() made other rows than the one before it
  std::uint32_t changed_rows_ = 0;
  std::uint32_t preempted_ = 0;
  std::uint32_t preempted_since_ = 0;  // the step planned last
  std::uint32_t steps_to_end_ = 0;     // until some row has all its tokens planned
  std::uint64_t kv_tokens_ = 0;        // of the step planned last
  std::uint64_t attention_pairs_ = 0;
  std::uint32_t max_kv_tokens_ = 0;
  bool ended_early_ = false;    // some row's request has, since the last plan
  bool may_admit_ = false;      // something came or was freed since admission last failed
  bool awaits_tokens_ = false;  // it failed for tokens in flight
};

}  // namespace syncopate::batching
