#include "tests/llama_cuda/subject.h"

#include <numeric>
#include <utility>

#include "backend/models/llama/cuda/device_llama.h"
#include "tests/llama_cuda/device_runner.h"

namespace syncopate::models::llama {
namespace {

class DeviceSequence final : public driver::Sequence {
 public:
  DeviceSequence(const DeviceLlama& model, const BatchLimits& limits, const Sampling& sampling)
      : runner_(model, limits), pages_(limits.pages_per_row), sampling_(sampling) {
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  void append(std::int32_t id) override {
    next_ = runner_.next({{pages_, position_++, {id}, sampling_}})[0];
  }
  std::int32_t next() override { return next_; }

 private:
  DeviceRunner runner_;
  Pages pages_;
  Sampling sampling_;
  std::int32_t position_ = 0;
  std::int32_t next_ = -1;
};

class DeviceSpeaker final : public driver::Speaker {
 public:
  DeviceSpeaker(const DeviceLlama& model, const BatchLimits& limits)
      : model_(model), limits_(limits) {}

  std::unique_ptr<driver::Sequence> begin(const Sampling& sampling) override {
    return std::make_unique<DeviceSequence>(model_, limits_, sampling);
  }

 private:
  const DeviceLlama& model_;
  BatchLimits limits_;
};

}  // namespace

driver::Subject make_device_subject(const experiments::HashModelConfig& drawn,
                                    const experiments::LimitsConfig& limits) {
  LlamaConfig config;
  config.vocab = drawn.vocab;
  config.hidden = 64;
  config.layers = 2;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 64;
  config.intermediate = 128;
  config.max_position = drawn.max_positions;
  auto model = make_device_llama(config, drawn.seed,
                                 {.rows = limits.rows, .tokens = limits.tokens, .invariant = true});
  // No request of the driver has more tokens than the pool has entries, if it can be served.
  auto speaker =
      std::make_unique<DeviceSpeaker>(*model, BatchLimits{.rows = 1,
                                                          .tokens = 1,
                                                          .pages_per_row = limits.pages + 1,
                                                          .page_tokens = limits.page_tokens,
                                                          .pages = limits.pages + 1});
  return {std::move(model), std::move(speaker)};
}

}  // namespace syncopate::models::llama
