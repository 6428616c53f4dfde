// The device's weights against the CPU's: the same values, rounded to bf16.
#include "backend/models/llama/cuda/device_weights.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "backend/models/llama/error.h"
#include "backend/models/llama/parameters.h"
#include "backend/models/llama/weights.h"
#include "backend/runtime/error.h"
#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/device_array.h"

namespace syncopate::models::llama {
namespace {

LlamaConfig tiny() {
  LlamaConfig config;
  config.vocab = 50;
  config.hidden = 48;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.intermediate = 40;
  return config;
}

void expect_rounded(const Bf16* device, const std::vector<float>& host, const char* what) {
  const std::vector<Bf16> got = read_device(device, host.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    const Bf16 expected = __float2bfloat16(host[i]);
    ASSERT_EQ(std::memcmp(&got[i], &expected, sizeof(Bf16)), 0) << what << ", element " << i;
  }
}

void expect_matrix(const DeviceMatrix& device, const Matrix& host, const char* what) {
  EXPECT_EQ(device.out, host.out) << what;
  EXPECT_EQ(device.in, host.in) << what;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device.values) % 256, 0U) << what;
  expect_rounded(device.values, host.values, what);
}

void expect_same(const DeviceWeights& device, const Weights& host) {
  expect_matrix(device.embedding(), host.embedding, "embedding");
  ASSERT_EQ(device.layers().size(), host.layers.size());
  for (std::size_t l = 0; l < host.layers.size(); ++l) {
    SCOPED_TRACE("layer " + std::to_string(l));
    const DeviceLayer& d = device.layers()[l];
    const LayerWeights& h = host.layers[l];
    expect_rounded(d.attention_norm, h.attention_norm, "attention_norm");
    expect_matrix(d.qkv, h.qkv, "qkv");
    expect_matrix(d.attention_out, h.attention_out, "attention_out");
    expect_rounded(d.mlp_norm, h.mlp_norm, "mlp_norm");
    expect_matrix(d.gate_up, h.gate_up, "gate_up");
    expect_matrix(d.down, h.down, "down");
  }
  expect_rounded(device.final_norm(), host.final_norm, "final_norm");
  if (host.head.values.empty()) {
    EXPECT_EQ(device.head().values, device.embedding().values);
  } else {
    expect_matrix(device.head(), host.head, "head");
  }
}

class DeviceWeightsTest : public cuda::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("weights-" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A checkpoint with a tensor for each that `config` asks for, in fp32 and bf16 in turn, but for
  /// what `change` makes of it; an empty shape leaves it out.
  void write_checkpoint(const LlamaConfig& config,
                        const std::function<void(ParameterTensor&)>& change = {}) const {
    Weights shapes;
    std::string header, data;
    std::size_t number = 0;
    visit_parameters(config, shapes, [&](auto&, const Parameter& parameter) {
      for (ParameterTensor tensor : parameter.tensors) {
        if (change) change(tensor);
        if (tensor.shape.empty()) continue;
        std::uint64_t size = 1;
        std::string shape;
        for (const std::uint64_t n : tensor.shape) {
          size *= n;
          shape += (shape.empty() ? "" : ",") + std::to_string(n);
        }
        const std::size_t begin = data.size();
        const bool bf16 = ++number % 2 == 0;
        for (const Bf16 value : random_bf16(size, number)) {
          const float wide = __bfloat162float(value) * (bf16 ? 1 : 1.001F);
          data.append(
              bf16 ? reinterpret_cast<const char*>(&value) : reinterpret_cast<const char*>(&wide),
              bf16 ? 2 : 4);
        }
        header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":")" +
                  (bf16 ? "BF16" : "F32") + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
                  std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
      }
    });
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = header.size();
    std::ofstream file(folder_ / "model.safetensors", std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), 8);
    file << header << data;
  }

  std::filesystem::path folder_;
};

TEST_F(DeviceWeightsTest, RandomOnesAreThoseOfTheCpu) {
  LlamaConfig config = tiny();
  expect_same(DeviceWeights::random(config, 5), random_weights(config, 5));
  config.tied_embeddings = true;
  expect_same(DeviceWeights::random(config, 6), random_weights(config, 6));
}

TEST_F(DeviceWeightsTest, ThoseOfACheckpointAreThoseOfTheCpu) {
  for (const bool tied : {false, true}) {
    LlamaConfig config = tiny();
    config.tied_embeddings = tied;
    write_checkpoint(config);
    expect_same(DeviceWeights::load(config, folder_), load_weights(config, folder_));
  }
}

TEST_F(DeviceWeightsTest, ABadCheckpointIsRefusedAsOnTheCpu) {
  const LlamaConfig config = tiny();
  const auto expect_refused = [&](const std::function<void(ParameterTensor&)>& change) {
    write_checkpoint(config, change);
    std::string expected;
    try {
      load_weights(config, folder_);
    } catch (const CheckpointError& error) {
      expected = error.what();
    }
    ASSERT_NE(expected, "");
    try {
      DeviceWeights::load(config, folder_);
      FAIL() << "it was taken";
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.what(), expected);
    }
  };
  expect_refused([](ParameterTensor& tensor) {
    if (tensor.name == "model.layers.1.mlp.up_proj.weight") tensor.shape.clear();
  });
  expect_refused([](ParameterTensor& tensor) {
    if (tensor.name == "model.layers.0.self_attn.k_proj.weight") ++tensor.shape[0];
  });
}

TEST_F(DeviceWeightsTest, TooLargeAModelSaysWhatItWanted) {
  LlamaConfig config = tiny();
  config.vocab = 1U << 24;
  config.hidden = 1U << 16;
  config.heads = 8192;
  EXPECT_THAT([&] { DeviceWeights::random(config, 1); },
              testing::ThrowsMessage<runtime::UnavailableError>(testing::HasSubstr("bytes")));
}

}  // namespace
}  // namespace syncopate::models::llama
