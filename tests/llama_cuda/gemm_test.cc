// Products on the device against sums in double precision, and the choice of their algorithms.
#include "backend/models/llama/cuda/gemm.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/cuda/graph.h"
#include "backend/cuda/stream.h"
#include "backend/runtime/error.h"
#include "tests/cuda/device_test.h"
#include "tests/llama_cuda/device_array.h"

namespace syncopate::models::llama {
namespace {

class GemmTest : public cuda::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("gemm-" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

/// W [out, in] and x [rows, in] on both sides.
struct Product {
  Product(const GemmShape& s, std::uint64_t seed)
      : shape(s),
        host_weights(random_bf16(std::size_t{s.out} * s.in, seed)),
        host_x(random_bf16(std::size_t{s.rows} * s.in, seed + 1)),
        weights(host_weights),
        x(host_x) {}

  DeviceMatrix matrix() const { return {weights.data(), shape.out, shape.in}; }

  template <class T>
  std::vector<T> run(const Gemm& gemm, std::uint32_t rows) const {
    const DeviceArray<T> y(std::size_t{rows} * shape.out);
    const DeviceArray<std::byte> scratch(Gemm::kScratchBytes);
    gemm.enqueue(nullptr, matrix(), x.data(), rows, y.data(), sizeof(T) == sizeof(float),
                 scratch.data());
    return y.read();
  }

  GemmShape shape;
  std::vector<Bf16> host_weights, host_x;
  DeviceArray<Bf16> weights, x;
};

float real(float value) { return value; }
float real(Bf16 value) { return __bfloat162float(value); }

/// Every 97th element, so that real sizes are checked too. fp32 sums of `in` terms of size 1 are
/// off by some 2^-24 of their size, sqrt(in), for each of log2 to all of the additions; bf16 rounds
/// to 2^-8.
template <class T>
void expect_product(const Product& product, const std::vector<T>& y, std::uint32_t rows) {
  const auto [padded_rows, out, in, fp32_out] = product.shape;
  const double sum_error = std::sqrt(in) * std::sqrt(in) * 0x1p-22;
  for (std::size_t i = 0; i < std::size_t{rows} * out; i += 97) {
    const Bf16* w = product.host_weights.data() + i % out * in;
    const Bf16* x = product.host_x.data() + i / out * in;
    double sum = 0;
    for (std::uint32_t k = 0; k < in; ++k) sum += double{real(w[k])} * real(x[k]);
    const double rounding = sizeof(T) == sizeof(float) ? 0 : std::abs(sum) * 0x1.01p-8;
    ASSERT_NEAR(real(y[i]), sum, sum_error + rounding) << "row " << i / out << " of " << out;
  }
}

void expect_products(const std::vector<GemmShape>& shapes, bool invariant) {
  for (const GemmShape& shape : shapes) {
    SCOPED_TRACE(std::to_string(shape.rows) + " rows, " + std::to_string(shape.in) + " -> " +
                 std::to_string(shape.out));
    const Product product(shape, shape.rows + shape.out);
    Gemm gemm({.invariant = invariant, .cache = {}});
    gemm.tune(std::vector{shape}, std::vector{product.matrix()});
    if (shape.fp32_out) {
      expect_product(product, product.run<float>(gemm, shape.rows), shape.rows);
    } else {
      expect_product(product, product.run<Bf16>(gemm, shape.rows), shape.rows);
    }
  }
}

TEST_F(GemmTest, ProductsAreRight) {
  // Small and odd ones, then layers of the 8B and 1B shapes.
  expect_products({{8, 7, 64, true},
                   {8, 40, 24, false},
                   {16, 131, 72, true},
                   {8, 6144, 4096, false},
                   {32, 28672, 4096, false},
                   {32, 4096, 14336, false},
                   {64, 2000, 2048, true},
                   {512, 2048, 8192, false}},
                  false);
}

TEST_F(GemmTest, InvariantProductsAreRight) {
  expect_products({{64, 7, 64, true}, {128, 704, 256, false}, {64, 6144, 4096, false}}, true);
}

TEST_F(GemmTest, AnInvariantRowHasTheSameBitsAnywhere) {
  const Product product({256, 6144, 4096, false}, 1);
  Gemm gemm({.invariant = true, .cache = {}});
  gemm.tune(std::vector{product.shape}, std::vector{product.matrix()});
  const std::vector<Bf16> all = product.run<Bf16>(gemm, 256);
  const std::size_t out = product.shape.out;

  // Row 70 alone among zeros, at places of both halves of a block, with 64 and 128 rows.
  for (const std::uint32_t rows : {64U, 128U}) {
    for (const std::uint32_t place : {0U, 9U, 63U}) {
      std::vector<Bf16> x(std::size_t{rows} * product.shape.in, __float2bfloat16(0));
      std::copy_n(product.host_x.begin() + 70 * product.shape.in, product.shape.in,
                  x.begin() + place * product.shape.in);
      const DeviceArray<Bf16> moved(x), y(rows * out);
      const DeviceArray<std::byte> scratch(Gemm::kScratchBytes);
      gemm.enqueue(nullptr, product.matrix(), moved.data(), rows, y.data(), false, scratch.data());
      const std::vector<Bf16> got = y.read();
      EXPECT_EQ(std::memcmp(&got[place * out], &all[70 * out], out * sizeof(Bf16)), 0)
          << "place " << place << " of " << rows;
    }
  }
}

TEST_F(GemmTest, ANaNStaysInItsRow) {
  const Product product({32, 4096, 4096, false}, 2);
  Gemm gemm({});
  gemm.tune(std::vector{product.shape}, std::vector{product.matrix()});
  const std::vector<Bf16> clean = product.run<Bf16>(gemm, 32);
  std::vector<Bf16> x = product.host_x;
  x[5 * product.shape.in + 17] = __float2bfloat16(NAN);
  const DeviceArray<Bf16> dirty(x), y(clean.size());
  const DeviceArray<std::byte> scratch(Gemm::kScratchBytes);
  gemm.enqueue(nullptr, product.matrix(), dirty.data(), 32, y.data(), false, scratch.data());
  const std::vector<Bf16> got = y.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i / product.shape.out == 5) {
      EXPECT_TRUE(std::isnan(real(got[i])));
    } else {
      ASSERT_EQ(std::memcmp(&got[i], &clean[i], sizeof(Bf16)), 0) << "element " << i;
    }
  }
}

TEST_F(GemmTest, ACapturedProductGivesTheSameBits) {
  const Product product({32, 6144, 4096, false}, 3);
  Gemm gemm({});
  gemm.tune(std::vector{product.shape}, std::vector{product.matrix()});
  const std::vector<Bf16> eager = product.run<Bf16>(gemm, 32);

  const DeviceArray<Bf16> y(eager.size());
  const DeviceArray<std::byte> scratch(Gemm::kScratchBytes);
  const cuda::OwnedStream stream = cuda::make_stream(runtime::StreamKind::kNonBlocking);
  cuda::begin_capture(stream.get());
  gemm.enqueue(stream.get(), product.matrix(), product.x.data(), 32, y.data(), false,
               scratch.data());
  const auto graph = cuda::instantiate(cuda::end_capture(stream.get()), stream.get());
  SYNCOPATE_CUDA_CALL(cudaGraphLaunch(graph.get(), stream.get()));
  const std::vector<Bf16> replayed = y.read();
  EXPECT_EQ(std::memcmp(replayed.data(), eager.data(), eager.size() * sizeof(Bf16)), 0);
}

TEST_F(GemmTest, WhatWasChosenIsKnownAtTheNextStart) {
  const Product product({16, 256, 512, false}, 4);
  const std::filesystem::path cache = folder_ / "kept" / "algorithms.txt";
  const std::vector<GemmShape> shapes{{8, 256, 512, false}, {16, 256, 512, false}};
  const auto tune = [&] {
    Gemm gemm({.invariant = false, .cache = cache});
    const GemmTuning tuning = gemm.tune(shapes, std::vector{product.matrix()});
    EXPECT_EQ(tuning.cache_problem, "");
    expect_product(product, product.run<Bf16>(gemm, 16), 16);
    return tuning.timed;
  };
  EXPECT_EQ(tune(), 2U);
  EXPECT_EQ(tune(), 0U);

  // Lines that mean nothing are passed over, and the rest still counts.
  std::ofstream(cache, std::ios::app) << "not a line of ours\n";
  EXPECT_EQ(tune(), 0U);
  std::ofstream(cache) << "\x01\x02 garbage";
  EXPECT_EQ(tune(), 2U);
  EXPECT_EQ(tune(), 0U);
}

TEST_F(GemmTest, AFileThatCannotBeWrittenIsTold) {
  const Product product({8, 64, 64, false}, 5);
  std::ofstream(folder_ / "file") << "in the way of a folder";
  Gemm gemm({.invariant = false, .cache = folder_ / "file" / "algorithms.txt"});
  const GemmTuning tuning = gemm.tune(std::vector{product.shape}, std::vector{product.matrix()});
  EXPECT_EQ(tuning.timed, 1U);
  EXPECT_THAT(tuning.cache_problem, testing::HasSubstr("algorithms.txt"));
  expect_product(product, product.run<Bf16>(gemm, 8), 8);
}

TEST_F(GemmTest, AShapeThatWasNotTunedIsRefused) {
  const Product product({8, 64, 64, false}, 6);
  Gemm gemm({});
  EXPECT_THROW(product.run<Bf16>(gemm, 8), runtime::UsageError);
  Gemm invariant({.invariant = true, .cache = {}});
  EXPECT_THROW(
      invariant.tune(std::vector<GemmShape>{{8, 64, 64, false}}, std::vector{product.matrix()}),
      runtime::UsageError);
}

}  // namespace
}  // namespace syncopate::models::llama
