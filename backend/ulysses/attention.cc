#include "backend/ulysses/attention.h"

namespace syncopate::ulysses {

AttentionBand attention_band(const HeadChunkLayout& layout, std::uint32_t rank, std::uint32_t band,
                             bool causal) {
  const LayoutOptions& options = layout.options();
  const HeadRange query = layout.heads(Tensor::kQ, rank, band);
  const HeadRange kv = layout.heads(Tensor::kK, rank, band);
  AttentionBand made;
  made.batch = options.batch;
  made.tokens = layout.all_tokens();
  made.query_heads = query.count;
  made.kv_heads = kv.count;
  made.head_dim = options.head_dim;
  made.type = options.type;
  made.group = layout.query_heads_per_kv_head();
  made.lead = query.first - kv.first * made.group;
  made.causal = causal;
  made.q = layout.landing(Tensor::kQ, rank, band).offset;
  made.k = layout.landing(Tensor::kK, rank, band).offset;
  made.v = layout.landing(Tensor::kV, rank, band).offset;
  made.output = layout.landing(Tensor::kOutput, rank, band).offset;
  return made;
}

runtime::Cost attention_cost(const AttentionBand& band) {
  const std::uint64_t tokens = band.tokens;
  const std::uint64_t pairs = band.causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  runtime::Cost cost;
  cost.work = runtime::Work::kAttention;
  cost.rows = band.batch * band.query_heads;
  cost.tokens = cost.rows * band.tokens;
  cost.max_kv_tokens = band.tokens;
  cost.kv_tokens = std::uint64_t{band.batch} * band.kv_heads * tokens;
  cost.attention_pairs = cost.rows * pairs;
  return cost;
}

}  // namespace syncopate::ulysses
