#include "backend/models/llama/cuda/device_llama.h"

#include <string>
#include <utility>

#include "backend/models/llama/cuda/attention.h"
#include "backend/models/llama/cuda/device_forward.h"
#include "backend/models/llama/cuda/kv_pool.h"
#include "backend/models/llama/error.h"

namespace syncopate::models::llama {
namespace {

struct ForwardArgs {
  const DeviceForward* forward;
  const BatchLayout* layout;
  StepBuffers buffers;
  GraphKey key;
};

void enqueue_forward(runtime::Exec& exec, const ForwardArgs& args) {
  const StepBuffers& buffers = args.buffers;
  const BatchView batch(exec.data<const std::int32_t>(buffers.inputs), *args.layout);
  const HistoryView history(batch, exec, buffers.history, args.forward->config().vocab);
  args.forward->enqueue(static_cast<cudaStream_t>(exec.native()), batch, args.layout->limits(),
                        history, args.key,
                        {exec.data<Bf16>(buffers.kv), exec.data<std::byte>(buffers.workspace),
                         exec.data<std::int32_t>(buffers.outputs)});
}

void check(const LlamaConfig& config, const std::string& source) {
  validate(config, source);
  if (const std::string lack = device_lacks(config); !lack.empty()) {
    throw ConfigError(source + ": " + lack);
  }
}

std::unique_ptr<DeviceLlama> assemble(const LlamaConfig& config, DeviceWeights weights,
                                      const DeviceLlamaOptions& options) {
  return std::make_unique<DeviceLlama>(std::make_unique<const DeviceForward>(
      config, std::move(weights), options.rows, options.tokens,
      DeviceForward::Options{.invariant = options.invariant, .cache = options.algorithms}));
}

}  // namespace

DeviceLlama::DeviceLlama(std::unique_ptr<const DeviceForward> forward)
    : forward_(std::move(forward)) {}

DeviceLlama::~DeviceLlama() = default;

const LlamaConfig& DeviceLlama::config() const { return forward_->config(); }

std::uint64_t DeviceLlama::kv_page_bytes(const BatchLimits& limits) const {
  return std::uint64_t{KvPool(config(), limits, nullptr).page_stride} * config().layers *
         sizeof(Bf16);
}

std::uint64_t DeviceLlama::workspace_bytes(const BatchLimits& limits) const {
  return forward_->workspace(limits).bytes();
}

std::string DeviceLlama::algorithms_lost() const { return forward_->tuning().cache_problem; }

std::uint64_t DeviceLlama::logits_offset(const BatchLimits& limits) const {
  return forward_->workspace(limits).logits;
}

GraphKey DeviceLlama::graph_key(std::uint32_t rows, std::uint32_t tokens, std::uint32_t) const {
  return forward_->key(rows, tokens);
}

runtime::Kernel DeviceLlama::forward(const BatchLayout& layout, const StepBuffers& buffers,
                                     const GraphKey& key) const {
  runtime::Kernel kernel;
  kernel.cuda =
      runtime::Body::of<enqueue_forward>(ForwardArgs{forward_.get(), &layout, buffers, key});
  return kernel;
}

std::string device_lacks(const LlamaConfig& config) {
  if (config.hidden % 8 != 0)
    return "hidden is " + std::to_string(config.hidden) +
           ": on a device it must be a multiple of 8";
  return attention_lacks(config);
}

std::unique_ptr<DeviceLlama> make_device_llama(const LlamaConfig& config, std::uint64_t seed,
                                               const DeviceLlamaOptions& options) {
  check(config, "llama");
  return assemble(config, DeviceWeights::random(config, seed), options);
}

std::unique_ptr<DeviceLlama> load_device_llama(const std::filesystem::path& folder,
                                               const DeviceLlamaOptions& options) {
  const std::filesystem::path file = folder / "config.json";
  const LlamaConfig config = load_config(file);
  check(config, file.string());
  return assemble(config, DeviceWeights::load(config, folder), options);
}

}  // namespace syncopate::models::llama
