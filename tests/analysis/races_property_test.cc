// Random programs against an oracle: an explicit graph of what must come before what, closed
// transitively, with a vertex for the start and one for the end of every piece of work.
#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "analysis/error.h"
#include "analysis/races.h"
#include "tests/analysis/program.h"

namespace syncopate::analysis {
namespace {

using runtime::Call;
using runtime::CallType;
using runtime::NodeType;
using runtime::Operation;
using runtime::Timeline;

constexpr std::size_t kMostVertices = 1024;

class Oracle {
 public:
  explicit Oracle(const Timeline& timeline) : t_(timeline), after_(kMostVertices) {
    for (const Call& call : t_.calls) {
      if (in_stream(call)) commands_[{call.at.stream.id, call.at.sequence}] = add();
    }
    std::map<std::uint16_t, int> last_of_host;
    for (const Call& call : t_.calls) add_call(call, last_of_host);
    for (const Call& call : t_.calls) add_flag_edges(call);
    for (const auto& [flag, from] : waits_) {
      if (flag.second == 0) continue;  // flags start at 0
      const auto signal = signals_.lower_bound(flag);
      if (signal == signals_.end() || signal->first.first != flag.first) {
        stuck_ = true;
      } else {
        edge(signal->second, from);
      }
    }
    close();
  }

  /// A wait is never met: it has no signal, or waits in a circle.
  bool stuck() const { return stuck_; }

  bool ordered(std::uint32_t before, std::uint32_t after) const {
    return before_[static_cast<std::size_t>(start_.at(after))].test(
        static_cast<std::size_t>(start_.at(before)) + 1);
  }
  bool race(std::uint32_t a, std::uint32_t b) const {
    return !own_node(a, b) && !ordered(a, b) && !ordered(b, a);
  }

  using Place = std::tuple<int, std::uint32_t, std::uint32_t>;
  /// Where an operation runs: what has one place runs in order.
  Place place(std::uint32_t operation) const {
    const Operation& op = t_.operations[operation];
    if (op.kind == OperationKind::kHostSpan) return {0, op.host, 0};
    const bool node = op.kind == OperationKind::kGraphNode;
    return {1, op.stream.id, node ? t_.graphs[op.graph.id].nodes[op.node].lane : 0};
  }
  /// Sorts operations of one host: a launch as a whole counts as its last.
  std::tuple<std::uint32_t, bool, std::uint32_t> rank(std::uint32_t operation) const {
    const Operation& op = t_.operations[operation];
    const bool node = op.kind == OperationKind::kGraphNode;
    return {node ? launch_of(operation) : operation, !node, operation};
  }

 private:
  static bool in_stream(const Call& call) {
    return call.type == CallType::kEnqueue || call.type == CallType::kSignal ||
           call.type == CallType::kWaitFlag ||
           (call.type == CallType::kWait && call.target.sequence != 0);
  }
  int add() {
    const int start = vertices_;
    vertices_ += 2;
    edge(start, start + 1);
    return start;
  }
  void edge(int from, int to) { after_[static_cast<std::size_t>(from)].push_back(to); }
  int command(Position at) const { return commands_.at({at.stream.id, at.sequence}); }

  void add_call(const Call& call, std::map<std::uint16_t, int>& last_of_host) {
    const int host = add();
    if (const auto last = last_of_host.find(call.host); last != last_of_host.end()) {
      edge(last->second + 1, host);
    }
    last_of_host[call.host] = host;
    if (call.type == CallType::kSpan) start_[call.operation] = host;
    if (call.type == CallType::kBlock || call.type == CallType::kSeen) {
      if (call.target.sequence != 0) edge(command(call.target) + 1, host);
    }
    if (call.type == CallType::kBlockFlag) waits_.push_back({{call.flag.id, call.value}, host});
    if (!in_stream(call)) return;
    const int work = command(call.at);
    edge(host, work);
    if (call.at.sequence > 1) {
      edge(command({call.at.stream, call.at.sequence - 1}) + 1, work);
    }
    if (call.type == CallType::kWait) edge(command(call.target) + 1, work);
    if (call.type != CallType::kEnqueue) return;
    start_[call.operation] = work;
    const Operation& op = t_.operations[call.operation];
    if (op.kind != OperationKind::kGraph) return;
    const auto& nodes = t_.graphs[op.graph.id].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const int node = add();
      start_[call.operation + 1 + i] = node;
      edge(work, node);
      edge(node + 1, work + 1);
      for (const std::uint16_t before : nodes[i].after) {
        edge(start_[call.operation + 1 + before] + 1, node);
      }
    }
  }

  void add_flag_edges(const Call& call) {
    const auto note = [this](bool is_signal, Flag flag, std::uint64_t value, int work) {
      if (is_signal) {
        signals_.emplace(std::pair{flag.id, value}, work + 1);  // of equal ones the first
      } else {
        waits_.push_back({{flag.id, value}, work});
      }
    };
    if (call.type == CallType::kSignal || call.type == CallType::kWaitFlag) {
      note(call.type == CallType::kSignal, call.flag, call.value, command(call.at));
    }
    if (call.type != CallType::kEnqueue) return;
    const Operation& op = t_.operations[call.operation];
    if (op.kind != OperationKind::kGraph) return;
    const auto& nodes = t_.graphs[op.graph.id].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const bool is_signal = nodes[i].type == NodeType::kSignal;
      if (!is_signal && nodes[i].type != NodeType::kWaitFlag) continue;
      note(is_signal, nodes[i].flag, nodes[i].value, start_[call.operation + 1 + i]);
    }
  }

  /// Kahn's algorithm, collecting all that comes before each vertex; a circle leaves a rest.
  void close() {
    before_.resize(static_cast<std::size_t>(vertices_));
    std::vector<int> open(static_cast<std::size_t>(vertices_));
    for (const auto& targets : after_) {
      for (const int to : targets) ++open[static_cast<std::size_t>(to)];
    }
    std::vector<std::size_t> ready;
    for (std::size_t v = 0; v < open.size(); ++v) {
      if (open[v] == 0) ready.push_back(v);
    }
    std::size_t closed = 0;
    while (!ready.empty()) {
      const std::size_t v = ready.back();
      ready.pop_back();
      ++closed;
      before_[v].set(v);
      for (const int target : after_[v]) {
        const auto to = static_cast<std::size_t>(target);
        before_[to] |= before_[v];
        if (--open[to] == 0) ready.push_back(to);
      }
    }
    stuck_ |= closed != open.size();
  }

  std::uint32_t launch_of(std::uint32_t node) const { return node - 1 - t_.operations[node].node; }
  bool own_node(std::uint32_t a, std::uint32_t b) const {
    const auto launches = [this](std::uint32_t launch, std::uint32_t node) {
      return t_.operations[launch].kind == OperationKind::kGraph &&
             t_.operations[node].kind == OperationKind::kGraphNode && launch_of(node) == launch;
    };
    return launches(a, b) || launches(b, a);
  }

  const Timeline& t_;
  int vertices_ = 0;
  bool stuck_ = false;
  std::vector<std::vector<int>> after_;
  std::vector<std::bitset<kMostVertices>> before_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> commands_;
  std::map<std::uint32_t, int> start_;  // of an operation; its end is the next vertex
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> signals_;
  std::vector<std::pair<std::pair<std::uint32_t, std::uint64_t>, int>> waits_;
};

struct RandomProgram {
  int hosts = 1;
  bool flags = false;

  /// Up to 40 calls over 3 streams (the last of them the second host's), 4 buffers and 2 graphs.
  Timeline make(std::mt19937_64& random) const {
    const auto below = [&](std::uint64_t n) { return random() % n; };
    Program p(static_cast<std::uint16_t>(hosts));
    const std::vector<Stream> streams = {p.stream("s"), p.stream("t"), p.stream("u")};
    const std::uint64_t buffers = 2 + below(3);
    for (std::uint64_t i = 0; i < buffers; ++i) p.buffer("buffer");
    const auto accesses = [&](std::uint64_t most) {
      Accesses made(below(most + 1));
      for (Access& access : made) {
        const std::uint64_t begin = below(12);
        access = {begin, begin + below(6), Buffer{static_cast<std::uint32_t>(below(buffers))},
                  below(2) == 0};
      }
      return made;
    };
    std::vector<std::uint64_t> values(3);  // of each stream's flag, so that they grow

    const std::uint64_t calls = 4 + below(37);
    for (std::uint64_t i = 0; i < calls; ++i) {
      const auto host = static_cast<std::uint16_t>(below(static_cast<std::uint64_t>(hosts)));
      p.on(host);
      const Stream s = streams[hosts == 1 ? below(3) : host == 0 ? below(2) : 2];
      const Event event{static_cast<std::uint32_t>(below(3))};
      const auto flag = static_cast<std::uint32_t>(below(3));
      switch (below(flags ? 13 : 10)) {
        case 0:
        case 1:
        case 2:
          p.launch(s, "op", accesses(3));
          break;
        case 3:
          p.span("span", accesses(2));
          break;
        case 4:
          p.record(event, s);
          break;
        case 5:
        case 6:
          p.wait(s, event);
          break;
        case 7:
          p.block(event);
          break;
        case 8:
          p.block(p.end_of(s));
          break;
        case 9: {
          std::vector<GraphNodeInfo> nodes(1 + below(5));
          std::vector<Accesses> touched(nodes.size());
          std::map<std::uint16_t, std::uint16_t> last;
          const auto count = static_cast<std::uint16_t>(nodes.size());
          for (std::uint16_t n = 0; n < count; ++n) {
            GraphNodeInfo& node = nodes[n];
            node.name = "node";
            node.lane = static_cast<std::uint16_t>(below(3));
            if (const auto found = last.find(node.lane); found != last.end()) {
              node.after.push_back(found->second);
            }
            last[node.lane] = n;
            if (n > 0 && below(3) == 0) node.after.push_back(static_cast<std::uint16_t>(below(n)));
            const std::uint64_t type = flags ? below(6) : 5;
            if (type == 0) {
              node.type = NodeType::kWaitFlag;
              node.flag = Flag{flag};
              node.value = values[flag] + (below(6) == 0 ? 1 : 0);
            } else if (type == 1 && node.lane == 0) {  // one lane, so that its values grow
              node.type = NodeType::kSignal;
              node.flag = Flag{s.id};
              node.value = ++values[s.id];
            } else {
              touched[n] = accesses(2);
            }
          }
          p.launch_graph(p.graph("g", nodes), s, "launch", accesses(1), touched);
          break;
        }
        case 10:
          p.signal(s, Flag{s.id}, values[s.id] += 1 + below(2));
          break;
        case 11:
          p.wait(s, Flag{flag}, values[flag] + (below(6) == 0 ? 1 : 0));
          break;
        case 12:
          p.block(Flag{flag}, values[flag]);
          break;
      }
    }
    return p.timeline();
  }
};

bool conflict(const Access& a, const Access& b) {
  return a.buffer == b.buffer && (a.write || b.write) &&
         std::max(a.begin, b.begin) < std::min(a.end, b.end);
}
Hazard hazard_of(const Access& earlier, const Access& later) {
  if (!later.write) return Hazard::kReadAfterWrite;
  return earlier.write ? Hazard::kWriteAfterWrite : Hazard::kWriteAfterRead;
}

using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Hazard>;
using Races = std::map<Key, std::uint32_t>;  // with the number of ranges of each

/// The documented rule, for one host whose operations are replayed in their order: for each access
/// and each other place the nearest earlier racing read and the nearest racing write.
Races nearest_races(const Timeline& t, const Oracle& oracle) {
  std::vector<std::uint32_t> order(t.operations.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return oracle.rank(a) < oracle.rank(b); });
  Races races;
  for (std::size_t l = 0; l < order.size(); ++l) {
    for (const Access& access : t.accesses_of(t.operations[order[l]])) {
      std::set<std::pair<Oracle::Place, bool>> found;
      for (std::size_t e = l; e-- > 0;) {
        if (!oracle.race(order[e], order[l])) continue;
        for (const Access& earlier : t.accesses_of(t.operations[order[e]])) {
          if (!conflict(earlier, access)) continue;
          if (!found.insert({oracle.place(order[e]), earlier.write}).second) continue;
          ++races[{order[e], order[l], access.buffer.id, hazard_of(earlier, access)}];
        }
      }
    }
  }
  return races;
}

Races as_map(const std::vector<Race>& races) {
  Races map;
  for (const Race& race : races) {
    map[{race.earlier, race.later, race.buffer.id, race.hazard}] += race.ranges;
  }
  return map;
}

/// Whether the pair is reported, or one that is nearer in the place of the first of them.
bool covered(const Races& races, const Oracle& oracle, std::uint32_t a, const Access& in_a,
             std::uint32_t b, const Access& in_b) {
  return std::any_of(races.begin(), races.end(), [&](const auto& entry) {
    const auto& [earlier, later, buffer, hazard] = entry.first;
    return later == b && buffer == in_b.buffer.id && hazard == hazard_of(in_a, in_b) &&
           oracle.place(earlier) == oracle.place(a) && oracle.rank(earlier) >= oracle.rank(a);
  });
}

/// What is reported is a race, and every race is covered by what is reported.
void expect_sound_and_complete(const Timeline& t, const Oracle& oracle, const Races& races) {
  for (const auto& [key, ranges] : races) {
    const auto& [earlier, later, buffer, hazard] = key;
    EXPECT_TRUE(oracle.race(earlier, later)) << earlier << " -> " << later;
  }
  for (std::uint32_t a = 0; a < t.operations.size(); ++a) {
    for (std::uint32_t b = a + 1; b < t.operations.size(); ++b) {
      if (!oracle.race(a, b)) continue;
      for (const Access& in_a : t.accesses_of(t.operations[a])) {
        for (const Access& in_b : t.accesses_of(t.operations[b])) {
          if (!conflict(in_a, in_b)) continue;
          EXPECT_TRUE(covered(races, oracle, a, in_a, b, in_b) ||
                      covered(races, oracle, b, in_b, a, in_a))
              << a << " and " << b << " race unseen";
        }
      }
    }
  }
}

struct Counts {
  int silent = 0;
  int racy = 0;
  int stuck = 0;
};

Counts check_programs(const RandomProgram& program, int seeds, bool exact) {
  Counts counts;
  for (int seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const Timeline timeline = program.make(random);
    const Oracle oracle(timeline);
    if (oracle.stuck()) {
      ++counts.stuck;
      EXPECT_THROW(find_races(timeline), UnsatisfiedWaitError);
      continue;
    }
    const Races races = as_map(find_races(timeline));
    ++(races.empty() ? counts.silent : counts.racy);
    if (exact) {
      EXPECT_EQ(races, nearest_races(timeline, oracle));
    }
    expect_sound_and_complete(timeline, oracle, races);
  }
  return counts;
}

TEST(RandomPrograms, OfOneHostGiveExactlyTheNearestRacesOfTheOracle) {
  const Counts counts = check_programs({.hosts = 1, .flags = false}, 3000, /*exact=*/true);
  EXPECT_GT(counts.silent, 100);
  EXPECT_GT(counts.racy, 1000);
}

TEST(RandomPrograms, OfTwoHostsWithFlagsAreReportedSoundlyAndCompletely) {
  const Counts counts = check_programs({.hosts = 2, .flags = true}, 3000, /*exact=*/false);
  EXPECT_GT(counts.silent, 100);
  EXPECT_GT(counts.racy, 500);
  EXPECT_GT(counts.stuck, 100);
}

}  // namespace
}  // namespace syncopate::analysis
