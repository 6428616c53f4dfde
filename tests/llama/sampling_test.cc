// The transformer's choice against a naive one in doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backend/models/llama/cpu/sampler.h"
#include "tests/llama/paged_runner.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint32_t kVocab = 61;  // no multiple of a vector

LlamaConfig tiny() {
  LlamaConfig config;
  config.vocab = kVocab;
  config.hidden = 16;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 8;
  config.intermediate = 24;
  config.max_position = 64;
  return config;
}

Sampling random_sampling(std::mt19937_64& random) {
  const auto share = [&] { return static_cast<double>(1 + random() % 1000) / 1000; };
  Sampling sampling;
  if (random() % 4) sampling.temperature = 2 * share();
  if (random() % 2) sampling.top_k = static_cast<std::uint32_t>(random() % 30);
  if (random() % 2) sampling.top_p = share();
  if (random() % 2) sampling.min_p = share() / 10;
  if (random() % 2) sampling.repetition_penalty = 0.5 + 2 * share();
  sampling.seed = random();
  return sampling;
}

// The ids in the order of their chance, with that chance; only those that the filters leave.
struct Chance {
  std::int32_t id;
  double share;
};

std::vector<Chance> chances(const std::vector<float>& logits, const Ids& past,
                            const Sampling& sampling) {
  std::vector<Chance> ranked;
  const std::set<std::int32_t> seen(past.begin(), past.end());
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(logits.size()); ++id) {
    double value = logits[static_cast<std::size_t>(id)];
    if (seen.count(id)) {
      value = value > 0 ? value / sampling.repetition_penalty : value * sampling.repetition_penalty;
    }
    ranked.push_back({id, value});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Chance& a, const Chance& b) { return a.share > b.share; });
  const auto normalise = [&] {
    double total = 0;
    for (const Chance& chance : ranked) total += chance.share;
    for (Chance& chance : ranked) chance.share /= total;
  };
  if (sampling.temperature == 0) ranked.resize(1);
  if (sampling.top_k > 0 && sampling.top_k < ranked.size()) ranked.resize(sampling.top_k);
  const double best = ranked[0].share;
  for (Chance& chance : ranked) {
    chance.share =
        sampling.temperature == 0 ? 1 : std::exp((chance.share - best) / sampling.temperature);
  }
  normalise();
  double sum = 0;
  std::size_t count = 0;
  while (count < ranked.size() && sum < sampling.top_p) sum += ranked[count++].share;
  ranked.resize(count);
  normalise();
  while (ranked.back().share < sampling.min_p * ranked[0].share) ranked.pop_back();
  normalise();
  return ranked;
}

// Whether `id` is what the draw after `past` gives, up to the rounding of single precision and of
// the parameters at the borders between ids.
bool is_drawn(std::int32_t id, const std::vector<float>& logits, const Ids& past,
              const Sampling& sampling) {
  const double drawn = std::ldexp(
      static_cast<double>(random_bits(sampling.seed, static_cast<std::uint32_t>(past.size()))),
      -64);
  // A filter's border that rounding may shift moves all borders: so each is tried a little to
  // either side.
  for (const double nudge : {0.0, -1e-4, 1e-4}) {
    Sampling nudged = sampling;
    nudged.top_p *= 1 + nudge;
    nudged.min_p *= 1 - nudge;
    double sum = 0;
    for (const Chance& chance : chances(logits, past, nudged)) {
      const double begin = sum;
      sum += chance.share;
      if (chance.id == id && begin - 1e-4 <= drawn && drawn <= sum + 1e-4) return true;
    }
  }
  return false;
}

// One request alone, token by token; with `check`, each draw is held against the definition.
Ids generate_alone(const LlamaModel& model, const Ids& prompt, const Sampling& sampling,
                   std::size_t count, bool check) {
  PagedRunner runner(model,
                     {.rows = 1, .tokens = 1, .pages_per_row = 1, .page_tokens = 64, .pages = 1});
  Ids ids = prompt;
  for (std::size_t p = 0; ids.size() < prompt.size() + count; ++p) {
    const auto logits = runner.step({{{0}, static_cast<std::int32_t>(p), {ids[p]}, sampling}})[0];
    if (p + 1 < ids.size()) continue;
    const std::int32_t id = runner.next_ids()[0];
    if (check) {
      EXPECT_TRUE(is_drawn(id, logits, ids, sampling)) << "position " << ids.size();
    }
    ids.push_back(id);
  }
  return ids;
}

Ids random_ids(std::mt19937_64& random, std::size_t count) {
  Ids ids(count);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % kVocab);
  return ids;
}

TEST(LlamaSampling, FollowsTheDefinitionTokenByToken) {
  const auto model = make_llama(tiny(), 1);
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Sampling sampling = random_sampling(random);
    generate_alone(*model, random_ids(random, 1 + random() % 6), sampling, 12, true);
  }
}

TEST(LlamaSampling, DependsNeitherOnBatchMatesNorOnPlaceNorOnRecomputation) {
  constexpr std::size_t kNew = 8;
  const auto model = make_llama(tiny(), 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PagedRunner runner(
        *model, {.rows = 3, .tokens = 60, .pages_per_row = 7, .page_tokens = 3, .pages = 28});
    Pages pool(28);
    std::iota(pool.begin(), pool.end(), 0);
    std::shuffle(pool.begin(), pool.end(), random);
    std::vector<RunnerRow> rows(3);
    std::vector<Ids> expected;
    for (RunnerRow& row : rows) {
      row.sampling = random_sampling(random);
      row.ids = random_ids(random, 1 + random() % 10);
      row.pages.assign(pool.end() - 7, pool.end());
      pool.resize(pool.size() - 7);
      expected.push_back(generate_alone(*model, row.ids, row.sampling, kNew, false));
    }
    std::vector<Ids> ids = {rows[0].ids, rows[1].ids, rows[2].ids};
    for (std::size_t step = 0; step < kNew; ++step) {
      if (step == kNew / 2) {  // all of the first again, on other pages
        rows[0].pages.assign(pool.begin(), pool.end());
        rows[0].position = 0;
        rows[0].ids = ids[0];
      }
      std::vector<std::size_t> order = {0, 1, 2};
      std::shuffle(order.begin(), order.end(), random);
      const Ids next = runner.next({rows[order[0]], rows[order[1]], rows[order[2]]});
      for (std::size_t r = 0; r < 3; ++r) {
        RunnerRow& row = rows[order[r]];
        ids[order[r]].push_back(next[r]);
        row.position += static_cast<std::int32_t>(row.ids.size());
        row.ids = {next[r]};
      }
    }
    EXPECT_EQ(ids, expected);
  }
}

TEST(LlamaSampling, OfOneIdIsGreedyAndLeavesTheLogits) {
  const auto model = make_llama(tiny(), 1);
  const Ids greedy = generate_alone(*model, {4, 2}, {}, 30, false);
  for (const Sampling& sampling :
       {Sampling{.temperature = 2, .top_k = 1}, Sampling{.temperature = 2, .top_p = 1e-6},
        Sampling{.temperature = 2, .min_p = 1}, Sampling{.temperature = 1e-6},
        Sampling{.repetition_penalty = 1, .seed = 5}}) {
    EXPECT_EQ(generate_alone(*model, {4, 2}, sampling, 30, false), greedy);
  }
  PagedRunner runner(*model, {1, 2, 1, 4, 1});
  const auto plain = runner.step({{{0}, 0, {3, 7}}});
  EXPECT_EQ(runner.step({{{0}, 0, {3, 7}, {.temperature = 1, .repetition_penalty = 3}}}), plain);
}

// One row whose logits are `logits`, after no ids.
std::int32_t choose_of(const std::vector<float>& logits, const Sampling& sampling,
                       std::uint32_t position = 0) {
  const BatchLayout layout(
      {.rows = 1, .tokens = 1, .pages_per_row = 1, .page_tokens = 1, .pages = 1});
  Ids block(layout.input_words());
  const SamplingWords words = encode(sampling);
  std::copy(words.begin(), words.end(), block.begin() + layout.sampling());
  const BatchView batch(block.data(), layout);
  const HistoryView none(batch, runtime::Exec(nullptr, nullptr), {}, 1);
  std::vector<float> scores(logits.size() + 8), weights(logits.size() + 8);
  std::vector<std::uint32_t> ranking(logits.size());
  return choose(logits.data(), static_cast<std::uint32_t>(logits.size()), batch.sampling(0),
                {none, 0, position}, {scores.data(), weights.data(), ranking.data()});
}

TEST(LlamaSampling, PrefersTheLowerIdAmongEquals) {
  const std::vector<float> logits = {1, 3, 3, 3, 2};
  std::set<std::int32_t> drawn;
  for (std::uint32_t position = 0; position < 200; ++position) {
    drawn.insert(choose_of(logits, {.temperature = 1, .top_k = 2}, position));
  }
  EXPECT_EQ(drawn, (std::set<std::int32_t>{1, 2}));
}

TEST(LlamaSampling, DrawsByTheSoftmax) {
  const std::vector<float> logits = {1.5f, -2.0f, 0.0f, 0.5f, 1.5f};
  constexpr std::uint32_t kDraws = 50'000;
  std::vector<double> counts(5), expected(5);
  for (std::uint32_t position = 0; position < kDraws; ++position) {
    ++counts[static_cast<std::size_t>(choose_of(logits, {.temperature = 0.7}, position))];
  }
  double total = 0, statistic = 0;
  for (const float logit : logits) total += std::exp(logit / 0.7);
  for (std::size_t id = 0; id < 5; ++id) {
    const double mean = kDraws * std::exp(logits[id] / 0.7) / total;
    statistic += (counts[id] - mean) * (counts[id] - mean) / mean;
  }
  // Pearson's statistic: a mean of 4, a standard deviation of the root of 8.
  EXPECT_LT(statistic, 4 + 4 * std::sqrt(8.0));
}

// What a racy run may leave in the logits.
TEST(LlamaSampling, CountsANanAsTheLeastLogit) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::uint32_t position = 0; position < 100; ++position) {
    const Sampling hot = {.temperature = 100};
    EXPECT_EQ(choose_of({kNan, 1, kNan}, hot, position), 1);
    EXPECT_EQ(choose_of({1, kInfinity, -kInfinity}, hot, position), 1);
    EXPECT_LT(choose_of({kNan, kNan, -kInfinity}, hot, position), 3);
    EXPECT_EQ(choose_of({kNan, 1, 2}, {}, position), 2);
  }
}

}  // namespace
}  // namespace syncopate::models::llama
