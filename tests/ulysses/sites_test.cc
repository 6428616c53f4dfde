// What each record, wait and signal is for: the exact races that its removal gives, and the wrong
// outputs that follow under some timing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/races.h"
#include "backend/cpu/cpu_engine.h"
#include "backend/runtime/error.h"
#include "sim/sim_engine.h"
#include "tests/ulysses/passes.h"

namespace syncopate::ulysses {
namespace {

using Conflicts = std::set<std::string>;

/// The order in which a pass does things.
int stage_of(std::string_view name) {
  constexpr std::string_view kStages[] = {"produce",   "renew",  "scatter",
                                          "attention", "gather", "consume"};
  for (int stage = 0; stage < 6; ++stage) {
    if (name.starts_with(kStages[stage])) return stage;
  }
  return 6;
}

/// The races as "buffer: first -> second +distance in passes", the nearest of each kind, as the
/// passes order them (a checker may see two hosts' operations in another order). Numbers of ranks
/// are dropped; what two ranks do to each other is marked.
Conflicts conflicts_of(const runtime::Timeline& timeline) {
  std::map<std::string, std::int64_t> nearest;
  for (const analysis::Race& race : analysis::find_races(timeline)) {
    const runtime::Operation* first = &timeline.operations[race.earlier];
    const runtime::Operation* second = &timeline.operations[race.later];
    if (first->step > second->step ||
        (first->step == second->step && stage_of(first->name) > stage_of(second->name))) {
      std::swap(first, second);
    }
    const auto name_of = [](const runtime::Operation& op) {
      const std::string_view name = op.name;  // scatter_q and its like are one
      return std::string(name.substr(0, name.find('_')));
    };
    std::string buffer = timeline.buffers[race.buffer.id].label;
    buffer.erase(buffer.find_last_not_of("0123456789") + 1);
    const std::string kind = buffer + ": " + name_of(*first) + " -> " + name_of(*second) +
                             (first->host == second->host ? "" : " of another rank");
    const std::int64_t distance = std::int64_t{second->step} - first->step;
    const auto [entry, added] = nearest.try_emplace(kind, distance);
    if (!added) entry->second = std::min(entry->second, distance);
  }
  Conflicts found;
  for (const auto& [kind, distance] : nearest) {
    found.insert(kind + " +" + std::to_string(distance));
  }
  return found;
}

struct Site {
  std::string name;
  Conflicts conflicts;
};

Conflicts operator+(Conflicts a, const Conflicts& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// The chain of a band is
//   produce -> scatter of every rank -> attention -> gather of every rank -> consume -> produce
// and each of its links is cut by removing one of the sites on it. Links do double duty: that a
// rank writes into another one's output only after the other has consumed the pass before hangs on
// all links before attention, and nothing else says it.
const Conflicts kOutputOverwritten = {"output: consume -> gather of another rank +1"};
const Conflicts kOthersScatterUnseen = {"workspace: scatter -> attention of another rank +0"};
const Conflicts kOthersGatherUnseen = {"output: gather -> consume of another rank +0"};

/// Where no wait guards a slot: the next pass overwrites it unless this one has waited for every
/// rank's gather, which comes behind its attention.
const Conflicts kSlotOverwritten = {"workspace: attention -> scatter of another rank +1"};

/// How a pass uses its slots.
struct SlotUse {
  bool guarded = false;        ///< Scatters wait for flags.
  bool again_in_pass = false;  ///< Without flags, a slot takes several bands of one pass.
  bool rows_move = false;      ///< A slot takes bands of different sizes, one after the other.
};

Conflicts of_inputs(const std::string& conflict) {
  return {"q: " + conflict, "k: " + conflict, "v: " + conflict};
}
const Conflicts kProducedUnseen = of_inputs("produce -> scatter +0");
const Conflicts kProducedTooEarly = of_inputs("scatter -> produce +1");
const Conflicts kScatterUnseen = {"workspace: scatter -> attention +0"};
const Conflicts kGatherTooEarly = {"attended: attention -> gather +0",
                                   "output: consume -> gather +1"};
const Conflicts kGatherUnseen = {"attended: gather -> attention +1",
                                 "output: gather -> consume +0"};

/// Of every strategy: the links between ranks, and those of a rank's own part.
std::vector<Site> links_of_communicators(const SlotUse& use) {
  const Conflicts rows =
      use.rows_move ? Conflicts{"workspace: scatter -> scatter of another rank +0"} : Conflicts{};
  Conflicts arrived_out = kOthersGatherUnseen, own_too_early = kProducedUnseen;
  if (!use.guarded) {
    arrived_out = arrived_out + kSlotOverwritten;
    own_too_early.insert("workspace: attention -> scatter +1");
  }
  if (use.again_in_pass) {  // behind every rank's gather
    arrived_out = arrived_out + kOthersScatterUnseen + rows;
    own_too_early = own_too_early + kScatterUnseen + rows;
  }
  const Conflicts own_unseen = kProducedTooEarly + kScatterUnseen + rows;
  const bool in_time = use.again_in_pass || !use.rows_move;
  return {{"input.wait_arrived",
           kOthersScatterUnseen + kOutputOverwritten + (in_time ? Conflicts{} : rows)},
          {"output.wait_arrived", arrived_out},
          {"input.own.record", own_too_early},
          {"input.own.wait", own_too_early},
          {"input.own.done.record", own_unseen},
          {"input.own.done.wait", own_unseen},
          {"output.own.record", kGatherTooEarly},
          {"output.own.wait", kGatherTooEarly},
          {"output.own.done.record", kGatherUnseen},
          {"output.own.done.wait", kGatherUnseen}};
}

/// With fewer slots than bands a scatter lands where attention still reads. Where neighbours in a
/// slot differ in size, ranks also write over each other's rows; where they are alike, a rank's
/// rows lie where its own lay before. (The first and last band of three are alike.)
Conflicts slot_reused(std::uint32_t slots, const std::vector<std::uint32_t>& schedule) {
  if (slots >= schedule.size()) return {};
  Conflicts reused = kOthersScatterUnseen + Conflicts{"workspace: scatter -> attention +0"};
  if (slots == 1 && schedule[0] != schedule[1]) {
    reused.insert("workspace: scatter -> scatter of another rank +0");
  }
  return reused;
}

/// The links between a rank's streams, each cut by its record or its wait.
void add_links(std::vector<Site>& sites, const Conflicts& caller_to_input,
               const Conflicts& input_to_caller, const Conflicts& caller_to_output,
               const Conflicts& output_to_caller) {
  const auto link = [&](const char* record, const char* wait, const Conflicts& conflicts) {
    sites.push_back({std::string("chunk_overlap.") + record, conflicts});
    sites.push_back({std::string("chunk_overlap.") + wait, conflicts});
  };
  link("caller.record", "input.wait_caller", caller_to_input);
  link("input.record", "compute.wait_input", input_to_caller);
  link("compute.record", "output.wait_compute", caller_to_output);
  link("output.record", "caller.wait_output", output_to_caller);
}

std::vector<Site> overlap_sites(std::uint32_t slots, const std::vector<std::uint32_t>& schedule) {
  const Conflicts reused = slot_reused(slots, schedule);
  const bool guarded = slots < schedule.size();
  const Conflicts overwritten = guarded ? Conflicts{} : kSlotOverwritten;
  const Conflicts caller_to_input =
      kProducedUnseen + kOutputOverwritten + overwritten +
      (guarded ? Conflicts{} : Conflicts{"workspace: attention -> scatter +1"});
  // What attention has not waited for, those behind it have not either, and a slot is given back
  // before it is read.
  const Conflicts input_to_caller = kOthersScatterUnseen + kOutputOverwritten + kProducedTooEarly +
                                    reused + Conflicts{"workspace: scatter -> attention +0"};
  const Conflicts caller_to_output = overwritten + kGatherTooEarly + kOutputOverwritten;
  const Conflicts output_to_caller = overwritten + kGatherUnseen + kOthersGatherUnseen;
  std::vector<Site> sites =
      links_of_communicators({guarded, false, slots == 1 && schedule[0] != schedule[1]});
  if (guarded) sites.push_back({"input.wait_free", reused});
  add_links(sites, caller_to_input, input_to_caller, caller_to_output, output_to_caller);
  return sites;
}

// The exchange orders ranks by itself, and what others send comes only when this rank does: so what
// is left are the links of a rank's own streams. Nobody writes into another's output.
std::vector<Site> packed_overlap_sites(std::uint32_t slots, const LayoutOptions& layout) {
  const bool guarded = slots < layout.schedule.size();
  const Conflicts overwritten =
      guarded ? Conflicts{} : kSlotOverwritten + Conflicts{"workspace: attention -> scatter +1"};
  const Conflicts scatters_unseen = kScatterUnseen + kOthersScatterUnseen;
  std::vector<Site> sites;
  if (guarded) sites.push_back({"input.wait_free", scatters_unseen});
  add_links(sites, kProducedUnseen + overwritten, kProducedTooEarly + scatters_unseen,
            kGatherTooEarly, kGatherUnseen);
  return sites;
}

/// Without other ranks, only what the streams of one do to each other is left.
std::vector<Site> of_one_rank(std::vector<Site> sites) {
  for (Site& site : sites) {
    std::erase_if(site.conflicts,
                  [](const std::string& name) { return name.find("another") != name.npos; });
  }
  return sites;
}

bool is_between_ranks(const std::string& site) {
  return site.find("chunk_overlap") == site.npos && site.find("own") == site.npos;
}

struct Case {
  Passes passes;
  std::vector<Site> sites;
};

std::vector<Case> cases() {
  const LayoutOptions alone{1, {5}, 4, 2, 4, ElementType::kFp32, {1, 2, 1}};
  const LayoutOptions two{1, {4, 3}, 8, 4, 4, ElementType::kFp32, {1, 2, 1}};
  const LayoutOptions three{2, {2, 1, 3}, 9, 3, 2, ElementType::kFp32, {1, 1, 1}};
  std::vector<Case> all;
  for (const StrategyKind kind :
       {StrategyKind::kOrdinary, StrategyKind::kWholeFused, StrategyKind::kChunkSequential}) {
    const bool again = kind == StrategyKind::kChunkSequential;
    all.push_back({{two, {kind}, 4}, links_of_communicators({false, again, again})});
  }
  const auto overlap = [](const LayoutOptions& layout, std::uint32_t slots) {
    return Case{{layout, {StrategyKind::kChunkOverlap, slots}, 4},
                overlap_sites(slots, layout.schedule)};
  };
  for (const std::uint32_t slots : {1U, 2U, 3U}) all.push_back(overlap(two, slots));
  for (const std::uint32_t slots : {1U, 3U}) all.push_back(overlap(three, slots));
  // In a graph the order of a rank's own streams is the graph's.
  for (const std::uint32_t slots : {1U, 3U}) {
    all.push_back(overlap(two, slots));
    Case& graph = all.back();
    graph.passes.options.graphs = true;
    std::erase_if(graph.sites, [](const Site& site) { return !is_between_ranks(site.name); });
  }
  // A workspace per call: given new memory while it is read, or written before it has it.
  all.push_back(overlap(two, 0));
  all.back().passes.options.workspace = WorkspaceUse::kPerCall;
  all.back().sites = {{"renewal.block_idle",
                       {"attended: attention -> renew +1", "attended: gather -> renew +1",
                        "workspace: attention -> renew +1", "workspace: scatter -> renew +1",
                        "workspace: scatter -> renew of another rank +1"}},
                      {"rendezvous.block", {"workspace: renew -> scatter of another rank +0"}}};
  all.push_back(overlap(alone, 2));
  all.back().sites = of_one_rank(all.back().sites);

  const auto packed = [](const LayoutOptions& layout, std::uint32_t slots) {
    Case made{{layout, {StrategyKind::kChunkOverlap, slots}, 4},
              packed_overlap_sites(slots, layout)};
    made.passes.options.transport = Transport::kNccl;
    return made;
  };
  for (const std::uint32_t slots : {1U, 2U, 3U}) all.push_back(packed(two, slots));
  for (const std::uint32_t slots : {1U, 3U}) all.push_back(packed(three, slots));
  all.push_back(packed(two, 1));
  all.back().passes.options.graphs = true;
  std::erase_if(all.back().sites, [](const Site& site) { return !is_between_ranks(site.name); });
  all.push_back(packed(alone, 2));
  all.back().sites = of_one_rank(all.back().sites);
  return all;
}

std::string text_of(const Case& c, const Site& site) {
  return std::string(to_string(c.passes.options.strategy)) + " of " +
         std::to_string(c.passes.layout.tokens.size()) + " ranks with " +
         std::to_string(c.passes.options.slots) + " slots" +
         (c.passes.options.graphs ? " as a graph" : "") +
         (c.passes.options.workspace == WorkspaceUse::kPerCall ? " made per call" : "") + " by " +
         to_string(c.passes.options.transport) + ", without " + site.name;
}

PassesOutcome run_without(const Site& site, const Case& c, const sim::SimOptions& options) {
  const int world = static_cast<int>(c.passes.layout.tokens.size());
  return make_passes(sim::make_sim_engine({}, options, world), c.passes,
                     {runtime::Detail::kAll, {site.name}});
}

TEST(UlyssesSitesTest, RemovingASiteGivesExactlyItsConflicts) {
  for (const Case& c : cases()) {
    for (const Site& site : c.sites) {
      EXPECT_EQ(conflicts_of(run_without(site, c, {}).timeline), site.conflicts)
          << text_of(c, site);
    }
  }
}

// The checker reasons from the log; chaos draws durations and looks at the outputs. They must
// agree: no race, no wrong output under any timing; a race, a wrong output under some.
TEST(UlyssesSitesTest, ChaosAndTheCheckerAgreeOnEverySite) {
  for (const Case& c : cases()) {
    const Outputs expected = expected_outputs(c.passes);
    std::vector<Site> sites = c.sites;
    sites.push_back({"none of them", {}});
    for (const Site& site : sites) {
      const std::uint64_t timings = site.conflicts.empty() ? 12 : 40;
      std::uint64_t seed = 1;  // up to the first that shows it
      for (; seed <= timings; ++seed) {
        sim::SimOptions chaos;
        chaos.chaos = true;
        chaos.seed = seed;
        if (run_without(site, c, chaos).outputs != expected) break;
      }
      if (site.conflicts.empty()) {
        EXPECT_GT(seed, timings) << text_of(c, site) << ": wrong with seed " << seed;
      } else {
        EXPECT_LE(seed, timings) << text_of(c, site) << ": a race that no timing shows";
      }
    }
  }
}

// A flag that nobody sets is not a race but a wait without end, and is told as one.
TEST(UlyssesSitesTest, RemovingASignalIsADeadlock) {
  for (const Case& c : cases()) {
    std::vector<std::string> signals;
    const auto guarded = [](const Site& site) { return site.name == "input.wait_free"; };
    if (std::any_of(c.sites.begin(), c.sites.end(), guarded)) {
      signals.emplace_back("input.signal_free");
    }
    if (c.passes.layout.tokens.size() > 1 && c.passes.options.transport == Transport::kPeer) {
      signals.insert(signals.end(), {"input.signal_arrived", "output.signal_arrived"});
    }
    for (const std::string& signal : signals) {
      const Site site = {signal, {}};
      EXPECT_THROW(run_without(site, c, {}), runtime::DeadlockError) << text_of(c, site);
    }
  }
}

// Real threads racing is what ThreadSanitizer is there to stop: it would end the run, rightly.
#if !defined(__SANITIZE_THREAD__)
TEST(UlyssesSitesTest, OnThreadsTheConflictsAreTheSame) {
  for (const Case& c : cases()) {
    // Threads would write to memory that has been freed.
    if (c.passes.options.workspace == WorkspaceUse::kPerCall) continue;
    const int world = static_cast<int>(c.passes.layout.tokens.size());
    for (const Site& site : c.sites) {
      const PassesOutcome outcome = make_passes(cpu::make_cpu_engine({}, world), c.passes,
                                                {runtime::Detail::kAll, {site.name}});
      EXPECT_EQ(conflicts_of(outcome.timeline), site.conflicts) << text_of(c, site);
    }
  }
}
#endif

}  // namespace
}  // namespace syncopate::ulysses
