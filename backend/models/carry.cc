#include "backend/models/carry.h"

#include "backend/models/batch_view.h"
#include "backend/models/cuda/bodies.h"

namespace syncopate::models {
namespace {

struct CarryArgs {
  const BatchLayout* layout;
  runtime::Buffer inputs;
  runtime::Buffer previous_outputs;
};

void carry_on_host(runtime::Exec& exec, const CarryArgs& args) {
  auto* block = exec.data<std::int32_t>(args.inputs);
  const auto* previous = exec.data<const std::int32_t>(args.previous_outputs);
  const BatchView batch(block, *args.layout);
  const std::uint32_t rows = batch.rows();
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::int32_t from = batch.carry(row);
    const std::uint32_t end = batch.row_end(row);
    if (from >= 0 && end > batch.row_start(row)) {
      block[args.layout->ids() + end - 1] = previous[from];
    }
  }
}

}  // namespace

runtime::Kernel carry_kernel(const BatchLayout& layout, runtime::Buffer inputs,
                             runtime::Buffer previous_outputs) {
  return {runtime::Body::of<carry_on_host>(CarryArgs{&layout, inputs, previous_outputs}),
          cuda_carry_body(&layout, inputs, previous_outputs)};
}

}  // namespace syncopate::models
