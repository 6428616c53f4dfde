// Model: what the batcher needs of a language model. The batcher knows nothing of what is computed;
// a model knows nothing of streams, slots or requests.
#pragma once

#include <cstdint>

#include "backend/models/batch_layout.h"
#include "backend/runtime/handles.h"
#include "backend/runtime/kernel.h"

namespace syncopate::models {

/// The buffers of one step. `inputs` and `outputs` belong to a slot, `kv` and `workspace` to all.
struct StepBuffers {
  runtime::Buffer inputs;   ///< Device: an input block (BatchLayout).
  runtime::Buffer outputs;  ///< Device: next_id[rows], int32.
  runtime::Buffer kv;       ///< Device: the KV pool, pages * kv_page_bytes().
  runtime::Buffer history;  ///< Device: the token id of each KV entry, int32, pages * page_tokens;
                            ///< none when no request has a repetition penalty.
  runtime::Buffer workspace;  ///< Device: workspace_bytes(), scratch of one step at a time.
};

/// What a captured step is bound to beyond its addresses: a graph may be replayed only for a batch
/// with the same key. A model that reads all sizes from the input block returns the default.
struct GraphKey {
  std::uint32_t rows = 0;       ///< Padded rows; 0: any.
  std::uint32_t tokens = 0;     ///< Padded tokens; 0: any.
  std::uint32_t kv_tokens = 0;  ///< Padded longest KV length; 0: any.
  friend auto operator<=>(const GraphKey&, const GraphKey&) = default;
};

/// Immutable once made; safe to use from any thread. Kernels hold a pointer to their model, which
/// must outlive the run.
class Model {
 public:
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  virtual const char* kind() const = 0;  ///< "hash", "llama".
  virtual std::uint32_t vocab() const = 0;
  /// Longest prompt plus generated tokens that the model can take.
  virtual std::uint32_t max_positions() const = 0;

  /// Bytes of one KV page. Declared accesses have page p at bytes
  /// [p * kv_page_bytes(), (p+1) * kv_page_bytes()); a model may lay the pool out otherwise, as
  /// long as no two pages share a byte.
  virtual std::uint64_t kv_page_bytes(const BatchLimits& limits) const = 0;
  /// Bytes of one entry when a page is an array of entries; 0 when entries are scattered over the
  /// page, so that a write is declared as one of the whole page.
  virtual std::uint64_t kv_entry_bytes() const = 0;
  virtual std::uint64_t workspace_bytes(const BatchLimits& limits) const = 0;

  virtual GraphKey graph_key(std::uint32_t rows, std::uint32_t tokens,
                             std::uint32_t max_kv_tokens) const = 0;

  /// One forward pass: writes the KV entries of all tokens of the batch, and their ids to `history`
  /// where there is one, then next_id[r] for each row, chosen from the logits of its last token as
  /// its sampling says (sampling.h). Reads `inputs`, reads and writes `kv` and `history`, writes
  /// `outputs` and `workspace`. Without a history repetition penalties do nothing. `key` is what
  /// graph_key() gave for the batch. `layout` must outlive the run.
  virtual runtime::Kernel forward(const BatchLayout& layout, const StepBuffers& buffers,
                                  const GraphKey& key) const = 0;

 protected:
  Model() = default;
};

}  // namespace syncopate::models
