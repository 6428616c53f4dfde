#include "tests/driver/bound_model.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/models/batch_view.h"

namespace syncopate::driver {
namespace {

using models::BatchView;
using models::GraphKey;
using models::hash::ForwardArgs;

/// The hash model's body with its arguments, and the logarithms of the sizes that it is bound to:
/// as much as a body can hold.
struct BoundArgs {
  void (*forward)(runtime::Exec&, const void*);
  ForwardArgs inner;
  std::uint8_t rows, tokens, kv_tokens;
};

std::uint8_t log2_ceil(std::uint32_t size) {
  return static_cast<std::uint8_t>(std::bit_width(std::bit_ceil(size)) - 1);
}

bool fits(std::uint32_t size, std::uint8_t bound) { return size <= 1U << bound; }

void bound_forward(runtime::Exec& exec, const BoundArgs& args) {
  args.forward(exec, &args.inner);
  const BatchView batch(exec.data<const std::int32_t>(args.inner.buffers.inputs),
                        *args.inner.layout);
  std::uint32_t longest = 0;
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    longest = std::max(longest, batch.kv_length(row));
  }
  if (fits(batch.rows(), args.rows) && fits(batch.tokens(), args.tokens) &&
      fits(longest, args.kv_tokens)) {
    return;
  }
  auto* next_id = exec.data<std::int32_t>(args.inner.buffers.outputs);
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    next_id[row] = (next_id[row] + 1) % static_cast<std::int32_t>(args.inner.vocab);
  }
}

}  // namespace

GraphKey BoundModel::graph_key(std::uint32_t rows, std::uint32_t tokens,
                               std::uint32_t max_kv_tokens) const {
  return {std::bit_ceil(rows), std::bit_ceil(tokens), std::bit_ceil(max_kv_tokens)};
}

runtime::Kernel BoundModel::forward(const models::BatchLayout& layout,
                                    const models::StepBuffers& buffers, const GraphKey& key) const {
  const runtime::Kernel inner = inner_.forward(layout, buffers, key);
  BoundArgs args{.forward = inner.host.fn,
                 .inner = {},
                 .rows = log2_ceil(key.rows),
                 .tokens = log2_ceil(key.tokens),
                 .kv_tokens = log2_ceil(key.kv_tokens)};
  std::memcpy(&args.inner, inner.host.args, sizeof(args.inner));
  return {runtime::Body::of<bound_forward>(args), {}};
}

}  // namespace syncopate::driver
