// The critical path of runs whose times are worked out by hand, and of drawn ones, which it tiles.
#include "analysis/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/batching/batcher.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/models/hash/hash_model.h"
#include "sim/sim_engine.h"
#include "tests/batching/workload.h"

namespace syncopate::analysis {
namespace {

using runtime::Buffer;
using runtime::Cost;
using runtime::Device;
using runtime::Event;
using runtime::Flag;
using runtime::Host;
using runtime::Memory;
using runtime::Nanos;
using runtime::Region;
using runtime::Stream;
using runtime::StreamKind;
using ::testing::ElementsAre;

/// A launch's call 1 us, on its way 2, handed over in 1, a host wakes in 3; a copy's call 2.
sim::HardwareProfile round_numbers() {
  sim::HardwareProfile profile;
  profile.host.kernel_launch_us = 1;
  profile.host.copy_us = 2;
  profile.host.wake_us = 3;
  profile.launch.latency_us = 2;
  profile.launch.handover_us = 1;
  profile.h2d = {4, 1000};
  profile.pageable = {6, 1000};
  return profile;
}

class Path : public testing::Test {
 protected:
  explicit Path(int hosts = 1)
      : runtime_(sim::make_sim_engine(round_numbers(), {.effects = false}, hosts)) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      streams_[i] = runtime_.make_stream(Device{hosts > 1 ? i : 0}, StreamKind::kNonBlocking, "s");
    }
  }
  static void span(Host& host, const char* name, Nanos us) {
    host.span(name, {}, [&] {
      Cost cost;
      cost.fixed_ns = us * 1000;
      return cost;
    });
  }
  static void launch(Host& host, Stream stream, const char* name, Nanos us) {
    Cost cost;
    cost.fixed_ns = us * 1000;
    host.launch(stream, name, cost, {}, runtime::Kernel{});
  }
  std::vector<std::string> run(std::vector<runtime::HostMain> mains) {
    runtime_.run(mains);
    const runtime::Timeline& timeline = runtime_.timeline();
    std::vector<std::string> out;
    for (const PathSegment& segment : critical_path(timeline)) {
      const std::string name = segment.use == PathUse::kHost
                                   ? ""
                                   : std::string(" ") + timeline.operations[segment.operation].name;
      out.push_back(std::string(to_string(segment.use)) + name + " " +
                    std::to_string(segment.begin / 1000) + "-" +
                    std::to_string(segment.end / 1000));
    }
    return out;
  }

  runtime::Runtime runtime_;
  Stream streams_[2];
};

class PathOfTwoHosts : public Path {
 protected:
  PathOfTwoHosts() : Path(2) {}
};

TEST_F(Path, OfAStepThatTakesTurnsIsAllOfIt) {
  EXPECT_THAT(run({[&](Host& host) {
                span(host, "prepare", 5);
                launch(host, streams_[0], "forward", 10);
                host.synchronize(streams_[0], "block");
                span(host, "update", 4);
              }}),
              ElementsAre("host span prepare 0-5", "call forward 5-6", "launch forward 6-8",
                          "device forward 8-18", "wake block 18-21", "host span update 21-25"));
}

// The second kernel was enqueued long before: it waits for the first, and the host's work is
// hidden.
TEST_F(Path, OfADeviceThatIsAlwaysBusyIsTheDevice) {
  EXPECT_THAT(run({[&](Host& host) {
                launch(host, streams_[0], "first", 20);
                span(host, "hidden", 5);
                launch(host, streams_[0], "second", 30);
              }}),
              ElementsAre("call first 0-1", "launch first 1-3", "device first 3-23",
                          "device second 23-53"));
}

TEST_F(Path, OfAHostThatIsTooSlowIsTheHost) {
  EXPECT_THAT(run({[&](Host& host) {
                launch(host, streams_[0], "first", 2);
                span(host, "slow", 50);
                launch(host, streams_[0], "second", 3);
              }}),
              ElementsAre("call first 0-1", "host span slow 1-51", "call second 51-52",
                          "launch second 52-54", "device second 54-57"));
}

TEST_F(Path, FollowsEventsToTheOtherStream) {
  const Event done = runtime_.make_event(Device{0});
  EXPECT_THAT(run({[&](Host& host) {
                launch(host, streams_[0], "producer", 20);
                host.record(done, streams_[0], "record");
                launch(host, streams_[1], "beside", 5);
                host.wait(streams_[1], done, "wait");
                launch(host, streams_[1], "consumer", 7);
              }}),
              ElementsAre("call producer 0-1", "launch producer 1-3", "device producer 3-23",
                          "gap consumer 23-24", "device consumer 24-31"));
}

TEST_F(Path, GoesThroughAPageableCopyToItsHost) {
  const Buffer from = runtime_.make_buffer(Device{0}, Memory::kPageable, 8, "from");
  const Buffer to = runtime_.make_buffer(Device{0}, Memory::kDevice, 8, "to");
  EXPECT_THAT(run({[&](Host& host) {
                span(host, "prepare", 5);
                host.copy(streams_[0], "h2d", Region::flat(to, 0, 8), Region::flat(from, 0, 8));
                span(host, "after", 1);
              }}),
              // 2 of the call and 2 on the way; then 4 and 6 of both directions' latencies.
              ElementsAre("host span prepare 0-5", "launch h2d 5-9", "device h2d 9-19",
                          "wake h2d 19-22", "host span after 22-23"));
}

TEST_F(PathOfTwoHosts, FollowsFlagsAndAHostThatBlocksOnOne) {
  const Flag there = runtime_.make_flag();
  EXPECT_THAT(run({[&](Host& host) {
                     span(host, "slow", 30);
                     launch(host, streams_[0], "work", 10);
                     host.signal(streams_[0], there, 1, "signal");
                   },
                   [&](Host& host) {
                     host.synchronize(there, 1, "meet");
                     span(host, "rest", 6);
                   }}),
              ElementsAre("host span slow 0-30", "call work 30-31", "launch work 31-33",
                          "device work 33-43", "wake meet 43-46", "host span rest 46-52"));
}

TEST_F(Path, SharesAddUpByUseAndName) {
  run({[&](Host& host) {
    for (int step = 0; step < 3; ++step) {
      span(host, "prepare", 5);
      launch(host, streams_[0], "forward", 10);
      host.synchronize(streams_[0], "block");
    }
  }});
  const auto shares = path_shares(runtime_.timeline(), critical_path(runtime_.timeline()));
  std::vector<std::string> said;
  for (const PathShare& share : shares) {
    said.push_back(std::string(to_string(share.use)) + " " + share.name + " " +
                   std::to_string(share.count) + "x " + std::to_string(share.total / 1000));
  }
  EXPECT_THAT(said, ElementsAre("device forward 3x 30", "host span prepare 3x 15",
                                "wake block 3x 9", "launch forward 3x 6", "call forward 3x 3"));
}

TEST(PathOfDrawnRuns, TilesThemWhateverTheirTimes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const bool threads : {false, true}) {
      if (threads && seed > 4) continue;
      sim::SimOptions options;
      options.seed = seed;
      options.chaos = true;
      const batching::Workload workload =
          batching::plain_workload(2 + static_cast<std::uint32_t>(seed % 3), 3, 9);
      const models::hash::HashModel model(workload.model);
      runtime::Runtime runtime(threads ? cpu::make_cpu_engine({}, 1)
                                       : sim::make_sim_engine(round_numbers(), options, 1));
      batching::BatcherOptions how;
      how.strategy =
          seed % 2 == 0 ? batching::StrategyKind::kAsync : batching::StrategyKind::kDefaultStream;
      how.slots = seed % 2 == 0 ? 2 : 1;
      batching::Batcher batcher(runtime, Device{0}, model, workload.limits, how, workload.requests);
      const runtime::HostMain mains[] = {[&](Host& host) { batcher.run(host); }};
      runtime.run(mains);
      const runtime::Timeline& timeline = runtime.timeline();
      Nanos end = 0;
      for (const runtime::Operation& op : timeline.operations) end = std::max(end, op.end);
      Nanos at = 0;
      for (const PathSegment& segment : critical_path(timeline)) {
        EXPECT_EQ(segment.begin, at);
        EXPECT_GT(segment.end, segment.begin);
        at = segment.end;
      }
      EXPECT_EQ(at, end);
    }
  }
}

}  // namespace
}  // namespace syncopate::analysis
