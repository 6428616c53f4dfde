// What every test that needs a device shares.
#pragma once

#include <gtest/gtest.h>

#include "backend/cuda/engine.h"

namespace syncopate::cuda {

/// Skips where there is no GPU.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (visible_devices() == 0) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

}  // namespace syncopate::cuda
