// What each record, wait and block is for: the exact races that its removal gives, and the wrong
// tokens that follow under some timing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend/cpu/cpu_engine.h"
#include "sim/sim_engine.h"
#include "tests/batching/named_races.h"
#include "tests/batching/workload.h"

namespace syncopate::batching {
namespace {

BatcherOptions options_for(StrategyKind kind, std::uint32_t slots, bool graphs) {
  BatcherOptions options;
  options.strategy = kind;
  options.slots = slots;
  options.graphs = graphs;
  return options;
}

struct Site {
  std::string name;
  Races races;
};

// The chain h2d -> compute -> d2h -> host of step s, and what hangs on each of its links. With n
// slots, step s + n is the next to use the same buffers.
//
// Every site is needed: no edge is implied by others, and none is there for nothing. Two edges do
// double duty. The host's block is the only fence before a slot is filled again, and it fences what
// the chain leads to it: with a link cut, what lies before the link is unprotected as well.
std::vector<Site> table(const std::string& strategy, std::uint32_t slots, bool carries) {
  const std::string n = " +" + std::to_string(slots);
  const Races upload_reuse = {"WAR host_inputs: h2d -> prepare" + n};
  Races compute_reuse = {"WAR inputs: forward -> h2d" + n};
  if (carries) compute_reuse.insert("WAW inputs: carry -> h2d" + n);

  Races h2d_to_compute = {"RAW inputs: h2d -> forward +0"};
  if (carries) {
    h2d_to_compute.insert("RAW inputs: h2d -> carry +0");
    h2d_to_compute.insert("WAW inputs: h2d -> carry +0");
  }
  h2d_to_compute.insert(upload_reuse.begin(), upload_reuse.end());

  Races compute_to_d2h = {"RAW outputs: forward -> d2h +0"};
  compute_to_d2h.insert(upload_reuse.begin(), upload_reuse.end());
  compute_to_d2h.insert(compute_reuse.begin(), compute_reuse.end());

  Races d2h_to_host = {"RAW host_outputs: d2h -> update +0", "WAR outputs: d2h -> forward" + n};
  d2h_to_host.insert(upload_reuse.begin(), upload_reuse.end());
  d2h_to_host.insert(compute_reuse.begin(), compute_reuse.end());

  const auto site = [&](const char* rest, const Races& races) {
    return Site{strategy + rest, races};
  };
  return {site(".h2d.record", h2d_to_compute),     site(".compute.wait", h2d_to_compute),
          site(".compute.record", compute_to_d2h), site(".d2h.wait", compute_to_d2h),
          site(".d2h.record", d2h_to_host),        site(".host.block", d2h_to_host)};
}

struct Case {
  StrategyKind kind;
  std::uint32_t slots;
  bool graphs;
};
const Case kCases[] = {{StrategyKind::kOrdered, 1, false},
                       {StrategyKind::kOrdered, 1, true},
                       {StrategyKind::kAsync, 2, false},
                       {StrategyKind::kAsync, 2, true},
                       {StrategyKind::kAsync, 3, true}};

std::vector<Site> table(const Case& c) {
  return table(to_string(c.kind), c.slots, c.kind == StrategyKind::kAsync);
}

TEST(SitesTest, RemovingASiteGivesExactlyItsRaces) {
  const Workload workload = plain_workload(3, 4, 12);
  for (const Case& c : kCases) {
    for (const Site& site : table(c)) {
      SCOPED_TRACE(site.name);
      const Outcome outcome =
          serve(sim::make_sim_engine({}, {}, 1), workload, options_for(c.kind, c.slots, c.graphs),
                {runtime::Detail::kAll, {site.name}});
      EXPECT_EQ(races_of(outcome.timeline), site.races);
    }
  }
}

TEST(SitesTest, TheDefaultStreamNeedsItsOneBlock) {
  const Workload workload = plain_workload(3, 4, 12);
  const Outcome outcome = serve(sim::make_sim_engine({}, {}, 1), workload,
                                options_for(StrategyKind::kDefaultStream, 1, false),
                                {runtime::Detail::kAll, {"default_stream.host.block"}});
  EXPECT_EQ(races_of(outcome.timeline),
            (Races{"RAW host_outputs: d2h -> update +0", "WAR host_inputs: h2d -> prepare +1"}));
}

// The checker reasons from the log; chaos draws durations and looks at the tokens. They must agree:
// no race, no wrong token under any timing; a race, a wrong token under some.
TEST(SitesTest, ChaosAndTheCheckerAgreeOnEverySite) {
  const Workload workload = plain_workload(3, 4, 12);
  const auto expected = expected_tokens(workload);
  for (const Case& c : kCases) {
    std::vector<Site> sites = table(c);
    sites.push_back({"none of them", {}});
    for (const Site& site : sites) {
      int wrong = 0;
      for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        sim::SimOptions chaos;
        chaos.chaos = true;
        chaos.seed = seed;
        const Outcome outcome =
            serve(sim::make_sim_engine({}, chaos, 1), workload,
                  options_for(c.kind, c.slots, c.graphs), {runtime::Detail::kAll, {site.name}});
        if (outcome.tokens != expected) ++wrong;
        ASSERT_EQ(races_of(outcome.timeline), site.races) << site.name << ", seed " << seed;
      }
      if (site.races.empty()) {
        EXPECT_EQ(wrong, 0) << to_string(c.kind) << " with all of its sites";
      } else {
        EXPECT_GT(wrong, 0) << site.name << ": a race that no timing of 40 shows";
      }
    }
  }
}

// -- the two rungs that are races ---------------------------------------------------------------

TEST(SitesTest, UnorderedIsWrongInVirtualTimeAndItsRacesAreNamed) {
  const Workload workload = plain_workload(3, 4, 12);
  for (const bool graphs : {false, true}) {
    const Outcome outcome = serve(sim::make_sim_engine({}, {}, 1), workload,
                                  options_for(StrategyKind::kUnordered, 1, graphs));
    EXPECT_NE(outcome.tokens, expected_tokens(workload));
    EXPECT_EQ(races_of(outcome.timeline), unordered_races());
  }
}

// One slot with two steps in flight: what slots are for. Each next step's inputs fall into those of
// the one that computes.
TEST(SitesTest, AsyncOverOneSlotShowsTheCorruption) {
  const Workload workload = plain_workload(3, 4, 12);
  for (const bool graphs : {false, true}) {
    const Outcome outcome = serve(sim::make_sim_engine({}, {}, 1), workload,
                                  options_for(StrategyKind::kAsync, 1, graphs));
    EXPECT_NE(outcome.tokens, expected_tokens(workload));
    EXPECT_EQ(races_of(outcome.timeline),
              (Races{"WAR host_inputs: h2d -> prepare +1", "WAR inputs: forward -> h2d +1",
                     "WAW inputs: carry -> h2d +1", "WAR outputs: d2h -> forward +1",
                     "RAW host_outputs: d2h -> update +-1"}));
  }
}

// Real threads racing is what ThreadSanitizer is there to stop: it would end the run, rightly.
#if !defined(__SANITIZE_THREAD__)
TEST(SitesTest, UnorderedOnThreadsHasTheSameRaces) {
  const Workload workload = plain_workload(3, 4, 12);
  const Outcome outcome =
      serve(cpu::make_cpu_engine({}, 1), workload, options_for(StrategyKind::kUnordered, 1, false));
  EXPECT_EQ(races_of(outcome.timeline), unordered_races());
}
#endif

}  // namespace
}  // namespace syncopate::batching
