#include "backend/models/llama/llama.h"

#include <utility>

#include "backend/models/batch_view.h"
#include "backend/models/history.h"
#include "backend/models/llama/cpu/forward.h"
#include "backend/models/llama/cpu/workspace.h"
#include "backend/models/llama/kv_layout.h"

namespace syncopate::models::llama {
namespace {

struct ForwardArgs {
  const CpuForward* forward;
  const BatchLayout* layout;
  StepBuffers buffers;
};

void run_forward(runtime::Exec& exec, const ForwardArgs& args) {
  const BatchView batch(exec.data<const std::int32_t>(args.buffers.inputs), *args.layout);
  const HistoryView history(batch, exec, args.buffers.history, args.forward->config().vocab);
  args.forward->step(batch, args.layout->limits(), exec.data<float>(args.buffers.kv), history,
                     exec.data<float>(args.buffers.workspace),
                     exec.data<std::int32_t>(args.buffers.outputs));
}

}  // namespace

LlamaModel::LlamaModel(const LlamaConfig& config, Weights weights, LlamaOptions options)
    : cpu_(std::make_unique<const CpuForward>(
          config, std::move(weights),
          options.invariant ? LinearMode::kInvariant : LinearMode::kFast)) {}

LlamaModel::~LlamaModel() = default;

const LlamaConfig& LlamaModel::config() const { return cpu_->config(); }

std::uint64_t LlamaModel::kv_page_bytes(const BatchLimits& limits) const {
  return KvLayout(config(), limits.page_tokens).page_floats * sizeof(float);
}

std::uint64_t LlamaModel::workspace_bytes(const BatchLimits& limits) const {
  return WorkspaceLayout(config(), limits).floats() * sizeof(float);
}

std::uint64_t LlamaModel::logits_offset(const BatchLimits& limits) const {
  return WorkspaceLayout(config(), limits).logits * sizeof(float);
}

runtime::Kernel LlamaModel::forward(const BatchLayout& layout, const StepBuffers& buffers,
                                    const GraphKey&) const {
  runtime::Kernel kernel;
  kernel.host = runtime::Body::of<run_forward>(ForwardArgs{cpu_.get(), &layout, buffers});
  return kernel;
}

std::unique_ptr<LlamaModel> make_llama(const LlamaConfig& config, std::uint64_t seed,
                                       LlamaOptions options) {
  validate(config, "llama");
  return std::make_unique<LlamaModel>(config, random_weights(config, seed), options);
}

std::unique_ptr<LlamaModel> load_llama(const std::filesystem::path& folder, LlamaOptions options) {
  const LlamaConfig config = load_config(folder / "config.json");
  return std::make_unique<LlamaModel>(config, load_weights(config, folder), options);
}

}  // namespace syncopate::models::llama
