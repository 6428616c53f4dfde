// The scheduler: decides who is in the next step and fills the step's inputs; takes the step's
// results and moves the requests on. It knows slots and pages, not streams or events.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batching/page_ledger.h"
#include "backend/batching/request.h"
#include "backend/batching/slot.h"
#include "backend/models/batch_layout.h"

namespace syncopate::batching {

/// The KV pool and how it is laid out, for declaring writes (models::Model).
struct KvPool {
  runtime::Buffer buffer;
  std::uint64_t page_bytes = 0;
  std::uint64_t entry_bytes = 0;  ///< 0: a write is declared as one of the whole page.
};

/// Policy: first come, first served. Rows that decode come before rows that prefill; a prompt is
/// prefilled whole, in one step, together with the decoding rows. A request is admitted when a row,
/// its tokens and, in the worst case, all its pages are there: admitted requests always finish.
///
/// Steps are planned before the results of earlier ones are known. What is known at plan time: how
/// many tokens each request has in flight, so a request that ends by length gets no row in vain. An
/// end by EOS is known only at update(): rows of it already in flight are discarded there.
///
/// Not thread-safe. Does not allocate after construction.
class Scheduler {
 public:
  /// `requests` must outlive the scheduler. Throws runtime::UsageError for a request that can never
  /// fit, naming it and what it lacks.
  Scheduler(const models::BatchLayout& layout, KvPool kv, std::span<const Request> requests);

  /// Plans step `step` into `slot`: fills its pinned inputs, rows, cost and KV writes, and notes in
  /// `rows` whose rows they are. With
  /// `previous_in_flight` the ids of the step before are not known on the host: they are carried
  /// over on the device, and carry[] says from which row. Returns false, and leaves the slot as it
  /// was, if there is nothing to compute until some step in flight is done, or at all.
  bool plan(std::int32_t step, Slot& slot, StepRows& rows, bool previous_in_flight);

  /// Takes a step's results: one id a row. Steps complete in order. Returns how many of its rows
  /// were discarded.
  std::uint32_t update(const StepRows& rows, const std::int32_t* ids);

  bool finished() const { return unfinished_ == 0; }
  /// Whether a plan() may find something to compute: some row has tokens to plan, or some request
  /// waits.
  bool has_work() const;
  /// Rows that joined, left or moved at the last plan().
  std::uint32_t changed_rows() const { return changed_rows_; }
  RequestResult result(std::uint32_t request) const;
  std::uint64_t tokens_done() const { return tokens_done_; }
  const PageLedger& ledger() const { return ledger_; }

  /// Checks the books against the block tables: every page has one owner, every owned page stands
  /// in its owner's table once. Throws runtime::UsageError with the first fault. For tests:
  /// O(pages).
  void verify() const;

 private:
  struct State {
    std::int32_t* tokens = nullptr;     // its output, in tokens_
    std::uint32_t known = 0;            // tokens taken so far
    std::uint32_t max_new_tokens = 0;   // as the request says; here to be near
    std::span<const std::int32_t> eos;  // likewise
    std::int32_t first_step = -1;       // the step that sampled its first token
    std::int32_t last_step = -1;        // the step that sampled its last token
    FinishReason reason = FinishReason::kNone;
  };
  // A row of the batch. Rows keep their order; those that leave are squeezed out.
  struct Row {
    std::uint32_t request = 0;
    std::uint32_t seat = 0;          // which block table it holds
    std::uint32_t position = 0;      // of the first token that its next step computes
    std::uint32_t end_position = 0;  // where all its tokens have been planned
    std::uint32_t pages = 0;
    std::uint32_t page_end = 0;      // position at which it needs a page more
    std::uint64_t next_entry = 0;    // byte in the KV pool where its next token's entry goes
    std::int32_t previous_row = -1;  // its row in the step planned last
  };

  std::uint32_t pages_for(std::uint32_t entries) const;
  std::uint32_t worst_pages(std::uint32_t request) const;
  std::uint32_t prompt_size(const Row& row) const;
  std::int32_t* table(const Row& row) { return &tables_[std::size_t{row.seat} * width_]; }
  static bool is_eos(const State& state, std::int32_t id);
  bool ended(const Row& row) const;
  void remove_ended();
  void admit();
  void grow(Row& row, std::uint32_t entries);
  void write_membership(Slot& slot, bool previous_in_flight);
  void write_prefills(Slot& slot);
  void write_decodes(Slot& slot, bool previous_in_flight);
  void write_pages(Slot& slot, std::uint32_t row);
  void declare_prefill(Slot& slot, const Row& row, std::uint32_t entries);

  const models::BatchLayout layout_;
  const KvPool kv_;
  const std::span<const Request> requests_;
  const std::uint32_t width_;  // of a block table

  PageLedger ledger_;
  std::vector<State> states_;  // by request
  std::vector<std::int32_t> tokens_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> seats_;  // free ones, a stack
  std::vector<std::int32_t> tables_;  // [seat][width_]

  std::uint32_t next_waiting_ = 0;  // requests before it have been admitted
  std::uint32_t unfinished_ = 0;
  std::uint64_t tokens_done_ = 0;
  std::uint32_t promised_pages_ = 0;  // worst case of all rows
  std::int32_t planned_step_ = -1;    // planned last
  std::uint32_t prefills_ = 0;        // the last rows of rows_, which prefill in that step
  std::uint32_t changed_rows_ = 0;
  std::uint32_t steps_to_end_ = 0;  // until some row has all its tokens planned
  std::uint64_t membership_ = 0;    // numbers the different fillings of the fixed fields
  std::uint64_t kv_tokens_ = 0;     // of the step planned last
  std::uint64_t attention_pairs_ = 0;
  std::uint32_t max_kv_tokens_ = 0;
  bool ended_by_eos_ = false;  // some row's request has, since the last plan
  bool may_admit_ = true;      // something was freed since admission last failed
};

}  // namespace syncopate::batching
