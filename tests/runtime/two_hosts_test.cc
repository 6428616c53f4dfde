// Two hosts that scatter to each other and wait by flags: one program text, in virtual time and on
// threads. What a Ulysses pass will rest on, in its smallest form.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/races.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/host.h"
#include "backend/runtime/runtime.h"
#include "sim/sim_engine.h"

namespace syncopate::runtime {
namespace {

constexpr std::uint32_t kHosts = 2;
constexpr std::uint32_t kRounds = 20;
constexpr std::uint64_t kBytes = 64 * sizeof(std::uint32_t);

struct ProduceArgs {
  Buffer send;
  std::uint32_t value;
};
void produce(Exec& exec, const ProduceArgs& args) {
  for (std::uint32_t i = 0; i < 64; ++i) exec.data<std::uint32_t>(args.send)[i] = args.value + i;
}

struct ConsumeArgs {
  Buffer received, sum;
};
void consume(Exec& exec, const ConsumeArgs& args) {
  auto* sum = exec.data<std::uint32_t>(args.sum);
  for (std::uint32_t i = 0; i < 64; ++i) {
    sum[0] = sum[0] * 31 + exec.data<const std::uint32_t>(args.received)[i];
  }
}

/// What host `rank` ends with if it receives every round's block of its peer in order.
std::uint32_t expected_sum(std::uint32_t rank) {
  std::uint32_t sum = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t i = 0; i < 64; ++i) sum = sum * 31 + (1 - rank) * 1000 + round * 7 + i;
  }
  return sum;
}

struct Outcome {
  std::uint32_t sum[kHosts] = {};
  std::size_t races = 0;
};

Outcome exchange(std::unique_ptr<Engine> engine, std::vector<std::string> removed_sites = {}) {
  Runtime runtime(std::move(engine), {Detail::kAll, std::move(removed_sites)});
  Buffer send[kHosts], received[kHosts], sum[kHosts], host_sum[kHosts];
  Stream compute[kHosts], scatter[kHosts];
  Event produced[kHosts], sent[kHosts];
  Flag arrived[kHosts], consumed[kHosts];  // of the host that waits for the data
  for (std::uint32_t rank = 0; rank < kHosts; ++rank) {
    const Device device{rank};
    const std::string number = std::to_string(rank);
    send[rank] = runtime.make_buffer(device, Memory::kDevice, kBytes, "send" + number);
    received[rank] = runtime.make_buffer(device, Memory::kDevice, kBytes, "received" + number);
    sum[rank] = runtime.make_buffer(device, Memory::kDevice, 4, "sum" + number);
    host_sum[rank] = runtime.make_buffer(device, Memory::kPinned, 4, "host_sum" + number);
    compute[rank] = runtime.make_stream(device, StreamKind::kNonBlocking, "compute" + number);
    scatter[rank] = runtime.make_stream(device, StreamKind::kNonBlocking, "scatter" + number);
    produced[rank] = runtime.make_event(device);
    sent[rank] = runtime.make_event(device);
    arrived[rank] = runtime.make_flag();
    consumed[rank] = runtime.make_flag();
  }
  const auto main = [&](Host& host) {
    const std::uint32_t rank = host.device().id;
    const std::uint32_t peer = 1 - rank;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      host.set_step(static_cast<std::int32_t>(round));
      host.wait(compute[rank], sent[rank], "produce.wait_sent");
      const Access writes[] = {write(send[rank], 0, kBytes)};
      host.launch(compute[rank], "produce", {}, writes,
                  {Body::of<produce>(ProduceArgs{send[rank], rank * 1000 + round * 7}), {}});
      host.record(produced[rank], compute[rank], "produce.record");

      host.wait(scatter[rank], produced[rank], "scatter.wait_produced");
      host.wait(scatter[rank], consumed[peer], round, "scatter.wait_consumed");
      host.copy(scatter[rank], "scatter", Region::flat(received[peer], 0, kBytes),
                Region::flat(send[rank], 0, kBytes));
      host.record(sent[rank], scatter[rank], "scatter.record");
      host.signal(scatter[rank], arrived[peer], round + 1, "scatter.signal");

      host.wait(compute[rank], arrived[rank], round + 1, "consume.wait_arrived");
      const Access touches[] = {read(received[rank], 0, kBytes), read(sum[rank], 0, 4),
                                write(sum[rank], 0, 4)};
      host.launch(compute[rank], "consume", {}, touches,
                  {Body::of<consume>(ConsumeArgs{received[rank], sum[rank]}), {}});
      host.signal(compute[rank], consumed[rank], round + 1, "consume.signal");
    }
    host.copy(compute[rank], "d2h", Region::flat(host_sum[rank], 0, 4),
              Region::flat(sum[rank], 0, 4));
    host.synchronize(compute[rank], "block");
  };
  const std::vector<HostMain> mains(kHosts, main);
  runtime.run(mains);
  Outcome outcome;
  for (std::uint32_t rank = 0; rank < kHosts; ++rank) {
    outcome.sum[rank] = *runtime.host_data<std::uint32_t>(host_sum[rank]);
  }
  outcome.races = analysis::find_races(runtime.timeline()).size();
  return outcome;
}

bool right(const Outcome& outcome) {
  return outcome.sum[0] == expected_sum(0) && outcome.sum[1] == expected_sum(1);
}

TEST(TwoHostsTest, ExchangeInVirtualTime) {
  const Outcome outcome = exchange(sim::make_sim_engine({}, {}, kHosts));
  EXPECT_TRUE(right(outcome));
  EXPECT_EQ(outcome.races, 0U);
}

TEST(TwoHostsTest, ExchangeOnThreads) {
  const Outcome outcome = exchange(cpu::make_cpu_engine({}, kHosts));
  EXPECT_TRUE(right(outcome));
  EXPECT_EQ(outcome.races, 0U);
}

// Every wait is needed: without it there is a race, and some timing that shows it.
TEST(TwoHostsTest, EachWaitThatIsRemovedIsARaceThatChaosShows) {
  const char* sites[] = {"produce.wait_sent", "scatter.wait_produced", "scatter.wait_consumed",
                         "consume.wait_arrived", "none of them"};
  for (const std::string site : sites) {
    int wrong = 0;
    std::size_t races = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      sim::SimOptions chaos;
      chaos.chaos = true;
      chaos.seed = seed;
      const Outcome outcome = exchange(sim::make_sim_engine({}, chaos, kHosts), {site});
      if (!right(outcome)) ++wrong;
      races = outcome.races;
    }
    if (site == "none of them") {
      EXPECT_EQ(races, 0U);
      EXPECT_EQ(wrong, 0);
    } else {
      EXPECT_GT(races, 0U) << site;
      EXPECT_GT(wrong, 0) << site;
    }
  }
}

}  // namespace
}  // namespace syncopate::runtime
