// Collectives: one program text on virtual time and threads, its order in the log, and what the
// front end makes of it for engines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/races.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/error.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "sim/sim_engine.h"
#include "tests/runtime/recording_engine.h"

namespace syncopate::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kTakers = 3;
constexpr std::uint32_t kTurns = 8;  // the last half as launches of a graph
constexpr std::uint64_t kOfferBytes = kTakers * sizeof(std::uint64_t);

struct TurnArgs {
  Buffer mine;
  Buffer all[kTakers];
  Buffer sum;
  std::uint32_t rank;
};
/// What a rank has for each other: a number that depends on all that it has got so far.
void offer(Exec& exec, const TurnArgs& args) {
  for (std::uint32_t to = 0; to < kTakers; ++to) {
    exec.data<std::uint64_t>(args.mine)[to] =
        exec.data<std::uint64_t>(args.sum)[0] * 3 + args.rank * 10 + to;
  }
}
void take_offers(Exec& exec, const TurnArgs& args) {
  auto* const sum = exec.data<std::uint64_t>(args.sum);
  for (const Buffer from : args.all)
    sum[0] = sum[0] * 5 + exec.data<std::uint64_t>(from)[args.rank];
}

std::vector<std::uint64_t> expected_sums() {
  std::vector<std::uint64_t> sums(kTakers, 0);
  for (std::uint32_t round = 0; round < kTurns; ++round) {
    const std::vector<std::uint64_t> before = sums;
    for (std::uint32_t rank = 0; rank < kTakers; ++rank) {
      for (std::uint32_t from = 0; from < kTakers; ++from) {
        sums[rank] = sums[rank] * 5 + before[from] * 3 + from * 10 + rank;
      }
    }
  }
  return sums;
}

struct TurnsOutcome {
  std::vector<std::uint64_t> sums;
  Timeline timeline;
};

TurnsOutcome take_turns(std::unique_ptr<Engine> engine, bool as_collective = true) {
  Runtime runtime(std::move(engine));
  std::vector<Device> devices;
  std::vector<Stream> streams;
  std::vector<Buffer> mine, sums, host_sums;
  for (std::uint32_t rank = 0; rank < kTakers; ++rank) {
    const Device device{rank};
    devices.push_back(device);
    streams.push_back(runtime.make_stream(device, StreamKind::kNonBlocking, "stream"));
    mine.push_back(runtime.make_buffer(device, Memory::kDevice, kOfferBytes, "mine"));
    sums.push_back(runtime.make_buffer(device, Memory::kDevice, sizeof(std::uint64_t), "sum"));
    host_sums.push_back(runtime.make_buffer(device, Memory::kPinned, sizeof(std::uint64_t), "got"));
  }
  const Meeting meeting = runtime.make_meeting(devices, 1);
  const auto main = [&](Host& host) {
    const std::uint32_t rank = host.device().id;
    const Stream stream = streams[rank];
    const TurnArgs args = {mine[rank], {mine[0], mine[1], mine[2]}, sums[rank], rank};
    const Access produces[] = {read(sums[rank], 0, 8), write(mine[rank], 0, kOfferBytes)};
    const Access takes[] = {read(mine[0], rank * 8, rank * 8 + 8),
                            read(mine[1], rank * 8, rank * 8 + 8),
                            read(mine[2], rank * 8, rank * 8 + 8), write(sums[rank], 0, 8)};
    const auto round = [&](Host& h) {
      h.launch(stream, "produce", {}, produces, {.host = Body::of<offer>(args), .cuda = {}});
      const Kernel kernel = {.host = Body::of<take_offers>(args), .cuda = {}};
      if (as_collective) {
        h.collective(stream, "exchange", {}, takes, kernel, meeting);
      } else {
        h.launch(stream, "exchange", {}, takes, kernel);
      }
    };
    for (std::uint32_t i = 0; i < kTurns / 2; ++i) round(host);
    const Graph graph = host.capture(stream, {}, "round", round);
    for (std::uint32_t i = kTurns / 2; i < kTurns; ++i) host.launch(graph, stream, "round", {});
    host.copy(stream, "d2h", Region::flat(host_sums[rank], 0, 8), Region::flat(sums[rank], 0, 8));
    host.synchronize(stream, "block");
  };
  runtime.run(std::vector<HostMain>(kTakers, main));
  TurnsOutcome outcome;
  for (const Buffer sum : host_sums) {
    outcome.sums.push_back(runtime.host_data<std::uint64_t>(sum)[0]);
  }
  outcome.timeline = runtime.take_timeline();
  return outcome;
}

TEST(CollectiveTest, EveryRankSeesWhatAllHadWhenTheyCame) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    sim::SimOptions options;
    options.chaos = seed > 0;
    options.seed = seed;
    const TurnsOutcome outcome = take_turns(sim::make_sim_engine({}, options, kTakers));
    EXPECT_EQ(outcome.sums, expected_sums()) << "seed " << seed;
    EXPECT_TRUE(analysis::find_races(outcome.timeline).empty());
  }
}

TEST(CollectiveTest, OnThreadsToo) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    cpu::CpuOptions options;
    if (seed > 0) options.chaos_seed = seed;
    const TurnsOutcome outcome = take_turns(cpu::make_cpu_engine(options, kTakers));
    EXPECT_EQ(outcome.sums, expected_sums());
    EXPECT_TRUE(analysis::find_races(outcome.timeline).empty());
  }
}

TEST(CollectiveTest, APlainKernelInItsPlaceRaces) {
  const TurnsOutcome outcome =
      take_turns(sim::make_sim_engine({}, {}, kTakers), /*as_collective=*/false);
  EXPECT_FALSE(analysis::find_races(outcome.timeline).empty());
}

TEST(CollectiveTest, IsImplicitSignalsAndWaitsAroundAKernel) {
  Recorded recorded;
  Runtime runtime(std::make_unique<RecordingEngine>(recorded, 2));
  const Stream stream = runtime.make_stream(Device{0}, StreamKind::kNonBlocking, "stream");
  const Meeting meeting = runtime.make_meeting({Device{1}, Device{0}});
  const HostMain main = [&](Host& host) {
    for (int i = 0; i < 2; ++i) host.collective(stream, "exchange", {}, {}, {}, meeting);
  };
  runtime.run(std::span(&main, 1));
  EXPECT_THAT(recorded.asked,
              ElementsAre("s0: signal 1", "s0: wait flag 1", "s0: run exchange", "s0: signal 2",
                          "s0: wait flag 2", "s0: signal 3", "s0: wait flag 3", "s0: run exchange",
                          "s0: signal 4", "s0: wait flag 4"));
  for (const Call& call : runtime.timeline().calls) {
    EXPECT_EQ(call.implicit, call.type != CallType::kEnqueue);
  }
}

TEST(CollectiveTest, ADeviceThatIsNotOfTheMeetingIsRefused) {
  Recorded recorded;
  Runtime runtime(std::make_unique<RecordingEngine>(recorded, 2));
  const Stream stream = runtime.make_stream(Device{0}, StreamKind::kNonBlocking, "stream");
  const Meeting meeting = runtime.make_meeting({Device{1}});
  const HostMain main = [&](Host& host) {
    EXPECT_THROW(host.collective(stream, "exchange", {}, {}, {}, meeting), UsageError);
  };
  runtime.run(std::span(&main, 1));
}

}  // namespace
}  // namespace syncopate::runtime
