// What a pass refuses, in every runtime, and what goes wrong elsewhere and must not here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_engine.h"
#include "backend/ulysses/error.h"
#include "backend/ulysses/packed_communicator.h"
#include "backend/ulysses/peer_communicator.h"
#include "sim/sim_engine.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

using runtime::Device;
using runtime::Host;
using runtime::Memory;
using runtime::Runtime;
using ::testing::HasSubstr;

const LayoutOptions kTwoRanks{1, {2, 2}, 4, 4, 4, ElementType::kFp32, {1, 1}};

void expect_fault(Fault fault, const std::string& says, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing is refused; expected: " << says;
  } catch (const UlyssesError& error) {
    EXPECT_EQ(error.fault(), fault) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(says));
  }
}

/// Rank 0's ends of communicators of two, on a runtime where rank 1 does nothing or as it should.
struct OneEnd {
  explicit OneEnd(std::unique_ptr<runtime::Engine> engine, Transport transport = Transport::kPeer,
                  std::uint64_t landing_bytes = 4096)
      : runtime(std::move(engine)),
        stream(make_stream(0)),
        x(make_tensor(0)),
        other_stream(make_stream(1)),
        other_x(make_tensor(1)),
        inputs(make_group(transport, PackedUse::kScatters, landing_bytes)),
        outputs(make_group(transport, PackedUse::kGathers, landing_bytes)) {}

  std::unique_ptr<CommunicatorGroup> make_group(Transport transport, PackedUse use,
                                                std::uint64_t bytes) {
    std::vector<Landing> landings;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      landings.push_back(
          {runtime.make_buffer(Device{rank}, Memory::kDevice, bytes, "landing"), bytes});
    }
    if (transport == Transport::kPeer) {
      std::vector<runtime::Stream> own;
      for (std::uint32_t rank = 0; rank < layout.world(); ++rank) own.push_back(make_stream(rank));
      return std::make_unique<PeerGroup>(runtime, layout, landings, 8, CommunicatorSites(), own);
    }
    return std::make_unique<PackedGroup>(runtime, layout, use, landings, 8, CommunicatorSites(),
                                         nullptr);
  }
  runtime::Stream make_stream(std::uint32_t rank) {
    return runtime.make_stream(Device{rank}, runtime::StreamKind::kNonBlocking, "stream");
  }
  runtime::Buffer make_tensor(std::uint32_t rank) {
    return runtime.make_buffer(Device{rank}, Memory::kDevice, layout.bytes(Tensor::kQ, rank), "x");
  }
  using Main = std::function<void(Communicator& in, Communicator& out, Host&)>;
  void run(const Main& main, const Main& other = [](Communicator&, Communicator&, Host&) {}) {
    const auto end = [this](std::uint32_t rank, const Main& main_of_rank) {
      return [this, rank, &main_of_rank](Host& host) {
        main_of_rank(*inputs->make_end(rank), *outputs->make_end(rank), host);
      };
    };
    const runtime::HostMain mains[] = {end(0, main), end(1, other)};
    runtime.run(mains);
  }

  HeadChunkLayout layout{kTwoRanks};
  Runtime runtime;
  runtime::Stream stream;
  runtime::Buffer x;
  runtime::Stream other_stream;
  runtime::Buffer other_x;
  std::unique_ptr<CommunicatorGroup> inputs, outputs;
};

constexpr Transport kTransports[] = {Transport::kPeer, Transport::kNccl};

std::unique_ptr<runtime::Engine> sim_of_two() { return sim::make_sim_engine({}, {}, 2); }

TEST(UlyssesFailuresTest, ASecondCollectiveInFlightIsRefusedInEveryRuntime) {
  for (const Transport transport : kTransports) {
    for (const bool threads : {false, true}) {
      OneEnd end(threads ? cpu::make_cpu_engine({}, 2) : sim_of_two(), transport);
      end.run(
          [&](Communicator& in, Communicator& out, Host& host) {
            in.scatter_heads(host, end.stream, 0, Tensor::kQ, end.x, {});
            expect_fault(Fault::kCollectiveInFlight, "before it has finished number 1",
                         [&] { in.scatter_heads(host, end.stream, 1, Tensor::kQ, end.x, {}); });
            out.gather_output_head_chunk(host, end.stream, 0, end.x);
            expect_fault(Fault::kCollectiveInFlight, "before it has finished number 1",
                         [&] { out.gather_output_head_chunk(host, end.stream, 0, end.x); });
          },
          [&](Communicator& in, Communicator& out, Host& host) {
            in.scatter_heads(host, end.other_stream, 0, Tensor::kQ, end.other_x, {});
            out.gather_output_head_chunk(host, end.other_stream, 0, end.other_x);
          });
    }
  }
}

TEST(UlyssesFailuresTest, FinishingWhatWasNotBegunIsRefused) {
  for (const Transport transport : kTransports) {
    OneEnd end(sim_of_two(), transport);
    end.run([&](Communicator& in, Communicator&, Host& host) {
      expect_fault(Fault::kCollectiveInFlight, "has not begun", [&] { in.finish(host); });
    });
  }
}

TEST(UlyssesFailuresTest, AWorkspaceThatIsTooSmallSaysWhatItNeedsAndHas) {
  for (const Transport transport : kTransports) {
    // Q of 4 tokens, 1 head of 16 bytes: 64, so K is at 256 and V at 512, up to 576.
    OneEnd end(sim_of_two(), transport, 575);
    end.run([&](Communicator& in, Communicator&, Host& host) {
      expect_fault(
          Fault::kWorkspaceTooSmall, "rank 0 needs 576 bytes, the memory there has 575",
          [&] { in.scatter_qkv_head_chunk(host, end.stream, 0, end.x, end.x, end.x, {}); });
      // Refused before anything was enqueued: nothing is in flight.
      expect_fault(Fault::kCollectiveInFlight, "has not begun", [&] { in.finish(host); });
    });
  }
}

TEST(UlyssesFailuresTest, AnOutputThatIsTooSmallIsRefused) {
  for (const Transport transport : kTransports) {
    OneEnd end(sim_of_two(), transport, 127);
    end.run([&](Communicator&, Communicator& out, Host& host) {
      expect_fault(Fault::kWorkspaceTooSmall, "needs 128 bytes",
                   [&] { out.gather_output_head_chunk(host, end.stream, 0, end.x); });
    });
  }
}

TEST(UlyssesFailuresTest, ABandThatThereIsNotIsRefused) {
  for (const Transport transport : kTransports) {
    OneEnd end(sim_of_two(), transport);
    end.run([&](Communicator& in, Communicator& out, Host& host) {
      expect_fault(Fault::kNoSuchBand, "band 2",
                   [&] { in.scatter_heads(host, end.stream, 2, Tensor::kQ, end.x, {}); });
      expect_fault(Fault::kNoSuchBand, "band 2",
                   [&] { out.gather_output_head_chunk(host, end.stream, 2, end.x); });
    });
  }
}

// Two exchanges do not fit on a device here. Each rank's first one keeps the other's partner out.
TEST(UlyssesFailuresTest, CommunicatorsThatRanksUseInDifferentOrdersDeadlock) {
  sim::HardwareProfile profile;
  profile.kernel(runtime::Work::kExchange) = {.base_us = 10, .holds = 0.6};
  for (const bool same_order : {true, false}) {
    OneEnd end(sim::make_sim_engine(profile, {}, 2), Transport::kNccl);
    const runtime::Stream side = end.make_stream(0), other_side = end.make_stream(1);
    const auto run = [&] {
      end.run(
          [&](Communicator& in, Communicator& out, Host& host) {
            in.scatter_heads(host, end.stream, 0, Tensor::kQ, end.x, {});
            host.busy("later", 1'000);
            out.gather_output_head_chunk(host, side, 0, end.x);
          },
          [&](Communicator& in, Communicator& out, Host& host) {
            const auto scatter = [&] {
              in.scatter_heads(host, end.other_stream, 0, Tensor::kQ, end.other_x, {});
            };
            const auto gather = [&] {
              out.gather_output_head_chunk(host, other_side, 0, end.other_x);
            };
            same_order ? scatter() : gather();
            host.busy("later", 1'000);
            same_order ? gather() : scatter();
          });
    };
    if (same_order) {
      run();
      EXPECT_EQ(end.runtime.timeline().end, 20'000);
      continue;
    }
    try {
      run();
      ADD_FAILURE() << "it ends";
    } catch (const runtime::DeadlockError& error) {
      const std::string text = error.what();
      EXPECT_THAT(text, HasSubstr("stream 0 of device 0: 3 of 6 commands done; the next one is "
                                  "'scatter_exchange' of meeting 0, to which 1 of 2 ranks"));
      EXPECT_THAT(text, HasSubstr("'gather_exchange', which waits for its slots"));
      EXPECT_THAT(text, HasSubstr("'gather_exchange' of meeting 1, to which 1 of 2 ranks"));
      EXPECT_THAT(text, HasSubstr("'scatter_exchange', which waits for its slots"));
    }
  }
}

TEST(UlyssesFailuresTest, StagingMemoryIsForOneUse) {
  OneEnd end(sim_of_two(), Transport::kNccl);
  end.run([&](Communicator& in, Communicator& out, Host& host) {
    expect_fault(Fault::kUnsupported, "for scatters, not gathers",
                 [&] { in.gather_output_head_chunk(host, end.stream, 0, end.x); });
    expect_fault(Fault::kUnsupported, "for gathers, not scatters",
                 [&] { out.scatter_heads(host, end.stream, 0, Tensor::kQ, end.x, {}); });
  });
}

// What is kept for each shape or band that ever came grows without bound. Here it is made once, as
// large as the largest band needs, and passes add nothing.
TEST(UlyssesFailuresTest, StagingMemoryIsThatOfTheLargestBandHoweverManyThereAre) {
  const auto scatters = [](std::vector<std::uint32_t> schedule) {
    const HeadChunkLayout layout(
        {1, {32, 32}, 16, 16, 16, ElementType::kFp32, std::move(schedule)});
    const std::vector<runtime::Buffer> none(2);
    return PackedPlan(layout, PackedUse::kScatters, none, none).staging_bytes(0);
  };
  // Q, K and V of 32 tokens and 4 heads of 64 bytes go to the other rank.
  const std::uint64_t of_four_heads = 3 * 32 * 4 * 64;
  EXPECT_EQ(scatters({4, 4}), of_four_heads);
  EXPECT_EQ(scatters({1, 4, 3}), of_four_heads);
  EXPECT_EQ(scatters({1, 1, 1, 1, 4}), of_four_heads);
  EXPECT_EQ(scatters({8}), 2 * of_four_heads);
}

TEST(UlyssesFailuresTest, PassesMakeNoBuffersOrStreams) {
  for (const Transport transport : kTransports) {
    const auto timeline = [&](std::uint32_t count) {
      Passes passes{kTwoRanks, {StrategyKind::kChunkOverlap, 1}, count};
      passes.options.transport = transport;
      return make_passes(sim_of_two(), passes).timeline;
    };
    const runtime::Timeline few = timeline(2), many = timeline(20);
    EXPECT_EQ(few.buffers.size(), many.buffers.size()) << to_string(transport);
    EXPECT_EQ(few.streams.size(), many.streams.size()) << to_string(transport);
    EXPECT_GT(many.operations.size(), few.operations.size()) << to_string(transport);
  }
}

/// The tensors that kTwoRanks wants.
std::vector<RankTensors> tensors(Runtime& runtime) {
  const HeadChunkLayout layout(kTwoRanks);
  std::vector<RankTensors> made;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const auto view = [&](Tensor tensor) {
      return TensorView{runtime.make_buffer(Device{rank}, Memory::kDevice,
                                            layout.bytes(tensor, rank), to_string(tensor)),
                        layout.shape(tensor, rank)};
    };
    made.push_back({runtime.make_stream(Device{rank}, runtime::StreamKind::kNonBlocking, "caller"),
                    view(Tensor::kQ), view(Tensor::kK), view(Tensor::kV), view(Tensor::kOutput)});
  }
  return made;
}

void expect_refused(Fault fault, const std::string& says,
                    const std::function<void(std::vector<RankTensors>&)>& spoil,
                    const LayoutOptions& layout = kTwoRanks) {
  Runtime runtime(sim::make_sim_engine({}, {}, 2));
  std::vector<RankTensors> ranks = tensors(runtime);
  spoil(ranks);
  expect_fault(fault, says, [&] {
    const HostAttention attention;
    Ulysses(runtime, HeadChunkLayout(layout), attention, {}, ranks);
  });
}

TEST(UlyssesFailuresTest, TensorsThatDoNotFitAreRefused) {
  using Ranks = std::vector<RankTensors>;
  expect_refused(Fault::kShape, "K of rank 1 is [1, 2, 3, 4], the layout says [1, 2, 4, 4]",
                 [](Ranks& r) { r[1].k.shape.heads = 3; });
  expect_refused(Fault::kShape, "output of rank 0", [](Ranks& r) { r[0].output.shape.tokens = 4; });
  expect_refused(Fault::kShape, "tensors of 1 ranks for a layout of 2",
                 [](Ranks& r) { r.pop_back(); });
  expect_refused(Fault::kAliasing, "the output of rank 1 shares a buffer with an input of rank 1",
                 [](Ranks& r) { r[1].output.buffer = r[1].v.buffer; });
  expect_refused(Fault::kAliasing, "the output of rank 0 shares a buffer with an input of rank 1",
                 [](Ranks& r) { r[0].output.buffer = r[1].q.buffer; });
  expect_refused(Fault::kAliasing, "the output of rank 0 shares a buffer with the output of rank 1",
                 [](Ranks& r) { r[0].output.buffer = r[1].output.buffer; });
}

TEST(UlyssesFailuresTest, AHostWithoutARankIsRefused) {
  Runtime runtime(sim::make_sim_engine({}, {}, 3));
  const HostAttention attention;
  Ulysses ulysses(runtime, HeadChunkLayout(kTwoRanks), attention, {}, tensors(runtime));
  const std::vector<runtime::HostMain> mains(3, [&](Host& host) { ulysses.pass(host); });
  expect_fault(Fault::kNoSuchBand, "host 2", [&] { runtime.run(mains); });
}

TEST(UlyssesFailuresTest, HeadsThatAttentionDoesNotTakeAreRefused) {
  LayoutOptions large = kTwoRanks;
  large.head_dim = HostAttention::kMaxHeadDim + 1;
  expect_refused(
      Fault::kUnsupported, "at most 1024 elements, not 1025",
      [&](std::vector<RankTensors>& ranks) {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
          for (TensorView* view :
               {&ranks[rank].q, &ranks[rank].k, &ranks[rank].v, &ranks[rank].output}) {
            view->shape.head_dim = large.head_dim;
          }
        }
      },
      large);
}

/// Says when a group asks for its exchange, which is when NCCL connects the ranks.
class CountedDevice final : public PackedDevice {
 public:
  runtime::Body copy_rows(PackedMoves, const Given&) const override { return {}; }
  const DeviceExchange& exchange(std::uint32_t, PackedUse) override {
    ++asked;
    return exchange_;
  }
  int asked = 0;

 private:
  class Nothing final : public DeviceExchange {
   public:
    runtime::Body body(std::uint32_t, PackedMoves, PackedMoves, const Given&) const override {
      return {};
    }
  };
  Nothing exchange_;
};

// Communicators that are set up at their first use fail where that is inside a capture.
TEST(UlyssesFailuresTest, ExchangesAreSetUpBeforeThereIsAPassToCapture) {
  for (const bool graphs : {false, true}) {
    CountedDevice device;
    Runtime runtime(sim_of_two());
    const HostAttention attention;
    UlyssesOptions options;
    options.transport = Transport::kNccl;
    options.graphs = graphs;
    options.packed_device = &device;
    Ulysses ulysses(runtime, HeadChunkLayout(kTwoRanks), attention, options, tensors(runtime));
    EXPECT_EQ(device.asked, 2) << "for scatters and for gathers";
    const std::vector<runtime::HostMain> mains(2, [&](Host& host) {
      for (int pass = 0; pass < 3; ++pass) ulysses.pass(host);
    });
    runtime.run(mains);
    EXPECT_EQ(device.asked, 2);
  }
}

// A captured graph keeps the address of a workspace that is allocated again.
TEST(UlyssesFailuresTest, AWorkspacePerCallInAGraphIsRefused) {
  Runtime runtime(sim::make_sim_engine({}, {}, 2));
  const HostAttention attention;
  UlyssesOptions options;
  options.graphs = true;
  options.workspace = WorkspaceUse::kPerCall;
  expect_fault(Fault::kUnsupported, "holds the addresses of its workspaces", [&] {
    Ulysses(runtime, HeadChunkLayout(kTwoRanks), attention, options, tensors(runtime));
  });
}

TEST(UlyssesFailuresTest, ASlotForEachBandIsEnoughHoweverManyAreAsked) {
  Runtime runtime(sim::make_sim_engine({}, {}, 2));
  const HostAttention attention;
  const HeadChunkLayout layout(kTwoRanks);
  const auto slots = [&](StrategyKind kind, std::uint32_t asked) {
    return Ulysses(runtime, layout, attention, {kind, asked}, tensors(runtime)).slots();
  };
  EXPECT_EQ(slots(StrategyKind::kChunkOverlap, 0), 2U);
  EXPECT_EQ(slots(StrategyKind::kChunkOverlap, 1), 1U);
  EXPECT_EQ(slots(StrategyKind::kChunkOverlap, 99), 2U);
  EXPECT_EQ(slots(StrategyKind::kChunkSequential, 2), 1U);
}

TEST(UlyssesFailuresTest, AllBandsInSlotsTakeNoMoreMemoryThanOneWholeBand) {
  Runtime runtime(sim::make_sim_engine({}, {}, 2));
  const HostAttention attention;
  const HeadChunkLayout layout({1, {32, 32}, 16, 16, 16, ElementType::kFp32, {4, 4}});
  std::vector<RankTensors> ranks = tensors(runtime);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks[rank].q.shape = ranks[rank].k.shape = ranks[rank].v.shape = ranks[rank].output.shape =
        layout.shape(Tensor::kQ, rank);
  }
  const Ulysses whole(runtime, layout, attention, {StrategyKind::kWholeFused}, ranks);
  const Ulysses overlap(runtime, layout, attention, {StrategyKind::kChunkOverlap}, ranks);
  const Ulysses sequential(runtime, layout, attention, {StrategyKind::kChunkSequential}, ranks);
  EXPECT_EQ(overlap.workspace_bytes(0), whole.workspace_bytes(0));
  EXPECT_LT(sequential.workspace_bytes(0), whole.workspace_bytes(0));
}

}  // namespace
}  // namespace syncopate::ulysses
