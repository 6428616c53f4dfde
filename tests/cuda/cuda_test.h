// What the tests of the CUDA engine share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "backend/cuda/engine.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "tests/cuda/device_test.h"
#include "tests/cuda/kernels.h"

namespace syncopate::cuda {

inline constexpr runtime::Device kDevice{0};
inline constexpr runtime::Cost kFree{};

class CudaTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) load_kernels();
  }
};

/// Skips where there are fewer than two.
class TwoDevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (visible_devices() == 0) GTEST_SKIP() << "skipped: no CUDA device";
    if (visible_devices() < 2) GTEST_SKIP() << "skipped: no second CUDA device";
    load_kernels();
  }
};

inline runtime::Runtime make_runtime(int devices = 1) {
  return runtime::Runtime(make_cuda_engine({.devices = devices}));
}

/// Runs `main` as the one host.
template <class Main>
void run(runtime::Runtime& runtime, Main&& main) {
  const runtime::HostMain host_main(std::forward<Main>(main));
  runtime.run(std::span(&host_main, 1));
}

/// Launches a kernel that has a CUDA body alone.
inline void launch(runtime::Host& host, runtime::Stream stream, const runtime::Body& body,
                   runtime::Name name = "kernel") {
  host.launch(stream, name, kFree, {}, {.host = {}, .cuda = body});
}

/// A kernel that holds its stream until the host opens it, so that tests of order need no time.
/// Gives up after some seconds, which timed_out() then tells.
class Gate {
 public:
  explicit Gate(runtime::Runtime& runtime)
      : buffer_(runtime.make_buffer(kDevice, runtime::Memory::kPinned, 8, "gate")),
        words_(runtime.host_data<std::uint32_t>(buffer_)) {}

  void close(runtime::Host& host, runtime::Stream stream) const {
    launch(host, stream, gate_body(buffer_), "gate");
  }
  void open() { __atomic_store_n(&words_[0], 1U, __ATOMIC_RELEASE); }
  bool timed_out() const { return __atomic_load_n(&words_[1], __ATOMIC_ACQUIRE) != 0; }

 private:
  runtime::Buffer buffer_;
  std::uint32_t* words_;
};

}  // namespace syncopate::cuda
