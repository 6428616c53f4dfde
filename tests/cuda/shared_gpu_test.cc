// Several devices of the runtime on one GPU: hosts, copies and flags between them, and graphs whose
// flags advance with each launch.
#include <cstdint>
#include <stdexcept>

#include "backend/runtime/error.h"
#include "tests/cuda/cuda_test.h"

namespace syncopate::cuda {
namespace {

using runtime::Buffer;
using runtime::Device;
using runtime::Flag;
using runtime::Graph;
using runtime::Host;
using runtime::Memory;
using runtime::Region;
using runtime::Stream;
using runtime::StreamKind;

class CudaSharedGpuTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    runtime_ = std::make_unique<runtime::Runtime>(make_cuda_engine({.devices = 2, .gpus = 1}));
    for (std::uint32_t i = 0; i < 2; ++i) {
      streams_[i] = runtime_->make_stream(Device{i}, StreamKind::kNonBlocking, "stream");
      words_[i] = runtime_->make_buffer(Device{i}, Memory::kDevice, 4, "word");
      seen_[i] = runtime_->make_buffer(Device{i}, Memory::kPinned, 4, "seen");
    }
  }
  static Region word(Buffer buffer) { return Region::flat(buffer, 0, 4); }

  std::unique_ptr<runtime::Runtime> runtime_;
  Stream streams_[2];
  Buffer words_[2];
  Buffer seen_[2];
};

TEST(CudaSharedGpu, MoreGpusThanDevicesIsAUsageError) {
  EXPECT_THROW(make_cuda_engine({.devices = 1, .gpus = 2}), runtime::UsageError);
  EXPECT_THROW(make_cuda_engine({.devices = 1, .gpus = -1}), runtime::UsageError);
}

// While hosts block on a flag their GPU is idle: what waits for that does not wait for them.
TEST_F(CudaSharedGpuTest, AHostThatBlocksOnAFlagHoldsNoStream) {
  const Flag freed = runtime_->make_flag();
  const runtime::HostMain mains[2] = {
      [&](Host& host) {
        launch(host, streams_[0], fill_body(words_[0], 1, 11));
        host.synchronize(streams_[0], "block");
        host.renew(words_[0], "renew");  // frees memory, for which the device must be idle
        launch(host, streams_[0], fill_body(words_[0], 1, 12));
        host.signal(streams_[0], freed, 1, "freed");
      },
      [&](Host& host) {
        host.synchronize(freed, 1, "meet");
        host.copy(streams_[1], "fetch", word(seen_[1]), word(words_[0]));
        host.synchronize(streams_[1], "end");
      }};
  runtime_->run(mains);
  EXPECT_EQ(*runtime_->host_data<std::uint32_t>(seen_[1]), 12U);
}

// Two streams are there; a GPU has 32 queues.
TEST_F(CudaSharedGpuTest, MoreStreamsThanQueuesAreRefusedOnceAFlagCanHoldOne) {
  for (std::uint32_t i = 2; i < 32; ++i) {
    runtime_->make_stream(Device{i % 2}, StreamKind::kNonBlocking, "more");
  }
  runtime_->make_flag();
  EXPECT_THROW(runtime_->make_stream(Device{0}, StreamKind::kNonBlocking, "one too many"),
               runtime::UnavailableError);
}

TEST_F(CudaSharedGpuTest, FlagsOrderCopiesBetweenThem) {
  const Flag filled = runtime_->make_flag();
  const runtime::HostMain mains[2] = {
      [&](Host& host) {
        launch(host, streams_[0], spin_body(1'000'000));
        launch(host, streams_[0], fill_body(words_[0], 1, 11));
        host.copy(streams_[0], "push", word(words_[1]), word(words_[0]));
        host.signal(streams_[0], filled, 1, "filled");
      },
      [&](Host& host) {
        host.wait(streams_[1], filled, 1, "wait");
        host.copy(streams_[1], "fetch", word(seen_[1]), word(words_[1]));
        host.synchronize(streams_[1], "end");
      }};
  runtime_->run(mains);
  EXPECT_EQ(*runtime_->host_data<std::uint32_t>(seen_[1]), 11U);
}

// Each adds 1 to the other's word and hands it back, so the words count the rounds, and any launch
// that does not wait for its own round's flag breaks the count. Plain rounds come first.
TEST_F(CudaSharedGpuTest, GraphsAnswerEachOtherRoundByRound) {
  constexpr std::uint64_t kPlain = 3, kRounds = 200;
  const Flag turn[2] = {runtime_->make_flag(1), runtime_->make_flag(1)};  // of rank 0, of rank 1
  const auto main = [&](Host& host) {
    const std::uint32_t me = host.device().id;
    const auto round = [&](Host& h, std::uint64_t number) {
      // Rank 0 begins the first round; all later ones, and rank 1's, follow the other's.
      h.wait(streams_[me], turn[me], number, "my turn");
      launch(h, streams_[me], affine_body(words_[1 - me], words_[me], 1, 1, 1), "add");
      h.signal(streams_[me], turn[1 - me], me == 0 ? number : number + 1, "your turn");
    };
    if (me == 1) host.signal(streams_[1], turn[0], 1, "begin");
    for (std::uint64_t number = 1; number <= kPlain; ++number) round(host, number);
    const Graph graph =
        host.capture(streams_[me], Buffer{}, "round", [&](Host& h) { round(h, kPlain + 1); });
    for (std::uint64_t i = kPlain; i < kRounds; ++i) host.launch(graph, streams_[me], "round", {});
    host.copy(streams_[me], "fetch", word(seen_[me]), word(words_[me]));
    host.synchronize(streams_[me], "end");
  };
  const runtime::HostMain mains[2] = {main, main};
  runtime_->run(mains);
  EXPECT_EQ(*runtime_->host_data<std::uint32_t>(seen_[0]), 2 * kRounds - 1);
  EXPECT_EQ(*runtime_->host_data<std::uint32_t>(seen_[1]), 2 * kRounds);
}

TEST_F(CudaSharedGpuTest, AFailedHostReleasesOneThatWaitsAgainAndAgain) {
  const Flag flag = runtime_->make_flag(1);
  const runtime::HostMain mains[2] = {[&](Host&) { throw std::out_of_range("before the signal"); },
                                      [&](Host& host) {
                                        for (std::uint64_t value = 1; value <= 3; ++value) {
                                          host.wait(streams_[1], flag, value, "wait");
                                        }
                                        host.synchronize(streams_[1], "end");
                                      }};
  EXPECT_THROW(runtime_->run(mains), std::out_of_range);
}

}  // namespace
}  // namespace syncopate::cuda
