#include "backend/models/hash/hash_model.h"

#include "backend/models/batch_view.h"
#include "backend/models/hash/choose.h"
#include "backend/models/hash/cuda/body.h"
#include "backend/models/hash/hash_math.h"
#include "backend/models/hash/host_scores.h"
#include "backend/models/history.h"
#include "backend/runtime/error.h"

namespace syncopate::models::hash {
namespace {

std::uint32_t argmax(std::uint32_t state, std::uint32_t vocab) {
  std::uint32_t best = 0;
  std::uint32_t best_logit = logit(state, 0);
  for (std::uint32_t id = 1; id < vocab; ++id) {
    const std::uint32_t candidate = logit(state, id);
    if (candidate > best_logit) {
      best_logit = candidate;
      best = id;
    }
  }
  return best;
}

void forward_on_host(runtime::Exec& exec, const ForwardArgs& args) {
  const BatchView batch(exec.data<const std::int32_t>(args.buffers.inputs), *args.layout);
  auto* next_id = exec.data<std::int32_t>(args.buffers.outputs);
  auto* kv = exec.data<std::uint32_t>(args.buffers.kv);
  const HistoryView history(batch, exec, args.buffers.history, args.vocab);

  // All entries first, then all reads, as a device does it: a row sees its whole prompt.
  const std::uint32_t rows = batch.rows();
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t token = batch.row_start(row); token < batch.row_end(row); ++token) {
      const std::uint32_t position = batch.position(token);
      kv[batch.kv_entry(row, position)] = kv_entry(batch.id(token, args.vocab), position);
    }
  }
  write_all(batch, history);
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::uint32_t state = args.seed;
    const std::uint32_t length = batch.kv_length(row);
    for (std::uint32_t position = 0; position < length; ++position) {
      state = fold(state, kv[batch.kv_entry(row, position)]);
    }
    const RowSampling sampling = batch.sampling(row);
    std::uint32_t id = 0;
    if (sampling.plain()) {
      id = argmax(state, args.vocab);
    } else {
      HostScores scores(state, args.vocab, sampling.penalty, history, row, length);
      id = Chooser(scores, sampling).choose(random_bits(sampling.seed, length));
    }
    next_id[row] = static_cast<std::int32_t>(id);
  }
}

}  // namespace

HashModel::HashModel(const HashConfig& config) : config_(config) {
  if (config.vocab < 2 || config.vocab > kMaxVocab || config.max_positions < 1) {
    throw runtime::UsageError(
        "hash model: vocab must be from 2 to 2^24 and max_positions at least 1");
  }
}

std::uint64_t HashModel::kv_page_bytes(const BatchLimits& limits) const {
  return std::uint64_t{limits.page_tokens} * kv_entry_bytes();
}

runtime::Kernel HashModel::forward(const BatchLayout& layout, const StepBuffers& buffers,
                                   const GraphKey&) const {
  const ForwardArgs args{&layout, buffers, config_.vocab, config_.seed};
  return {runtime::Body::of<forward_on_host>(args), cuda_forward_body(args)};
}

}  // namespace syncopate::models::hash
