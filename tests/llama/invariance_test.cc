// The mode in which a request's bits depend on its own tokens alone, and its distance from the mode
// that gives up on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "tests/llama/paged_runner.h"

namespace syncopate::models::llama {
namespace {

constexpr std::uint32_t kPositions = 100;  // More than a tile of attention.

/// Sizes that are no multiples of a panel, and queries that share heads.
LlamaConfig tiny() {
  LlamaConfig config;
  config.vocab = 101;
  config.hidden = 72;
  config.layers = 2;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 40;
  config.intermediate = 90;
  config.max_position = kPositions;
  return config;
}

/// A number below `bound`; the same on every machine, as standard distributions are not.
std::uint32_t below(std::mt19937& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

Ids random_ids(std::mt19937& random, std::uint32_t count) {
  Ids ids(count);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(below(random, tiny().vocab));
  return ids;
}

/// The logits after each token of `ids`, computed alone, one token a step, in one large page.
std::vector<std::vector<float>> one_by_one(const LlamaModel& model, const Ids& ids) {
  PagedRunner runner(model, {1, 1, 1, kPositions, 1});
  std::vector<std::vector<float>> logits;
  for (std::size_t p = 0; p < ids.size(); ++p)
    logits.push_back(runner.step({{{0}, static_cast<std::int32_t>(p), {ids[p]}}})[0]);
  return logits;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // Also when it is NaN.
  }
  return largest;
}

/// A request on its way: its tokens, where their logits should be, and the pages it has now.
struct Request {
  Ids ids;
  std::vector<std::vector<float>> expected;
  Pages pages;
  std::uint32_t done = 0;
};

/// Random schedules: any requests in any order in each step, in chunks of any length; now and then
/// one loses its pages and is computed again in others. `check` sees each row's logits.
template <class Check>
void run_random_schedule(const LlamaModel& model, std::uint32_t seed, Check&& check) {
  std::mt19937 random(seed);
  BatchLimits limits;
  limits.rows = 5;
  limits.page_tokens = 1 + below(random, 20);
  limits.pages_per_row = (kPositions + limits.page_tokens - 1) / limits.page_tokens;
  limits.pages = limits.rows * limits.pages_per_row + 3;
  limits.tokens = limits.rows * kPositions;
  PagedRunner runner(model, limits);

  Pages free(limits.pages);
  std::iota(free.begin(), free.end(), 0);
  const auto deal_pages = [&](Request& request) {
    free.insert(free.end(), request.pages.begin(), request.pages.end());
    std::shuffle(free.begin(), free.end(), random);
    request.pages.assign(free.end() - limits.pages_per_row, free.end());
    free.resize(free.size() - limits.pages_per_row);
    request.done = 0;
  };
  std::vector<Request> requests(1 + below(random, limits.rows));
  for (Request& request : requests) {
    request.ids = random_ids(random, 1 + below(random, kPositions));
    request.expected = one_by_one(model, request.ids);
    deal_pages(request);
  }
  for (int step = 0; step < 12; ++step) {
    std::shuffle(requests.begin(), requests.end(), random);
    std::vector<RunnerRow> rows;
    std::vector<Request*> chosen;
    for (Request& request : requests) {
      if (below(random, 8) == 0) deal_pages(request);
      const auto left = static_cast<std::uint32_t>(request.ids.size()) - request.done;
      if (left == 0 || below(random, 4) == 0) continue;
      const std::uint32_t tokens = below(random, 2) == 0 ? 1 : 1 + below(random, left);
      const auto first = request.ids.begin() + request.done;
      rows.push_back(
          {request.pages, static_cast<std::int32_t>(request.done), Ids(first, first + tokens)});
      chosen.push_back(&request);
      request.done += tokens;
    }
    const auto logits = runner.step(rows);
    for (std::size_t r = 0; r < rows.size(); ++r)
      check(logits[r], chosen[r]->expected[chosen[r]->done - 1]);
  }
}

TEST(Invariance, NoScheduleChangesABit) {
  const auto model = make_llama(tiny(), 1, {.invariant = true});
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    run_random_schedule(*model, seed, [&](const auto& logits, const auto& expected) {
      EXPECT_TRUE(same_bits(logits, expected))
          << "seed " << seed << ": off by " << distance(logits, expected);
    });
    if (HasFailure()) return;
  }
}

TEST(Invariance, TheFastModeIsCloseUnderEverySchedule) {
  const auto model = make_llama(tiny(), 1, {.invariant = false});
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    run_random_schedule(*model, seed, [&](const auto& logits, const auto& expected) {
      EXPECT_LT(distance(logits, expected), 1e-4f) << "seed " << seed;
    });
    if (HasFailure()) return;
  }
}

TEST(Invariance, APlaceInTheBatchChangesNoBit) {
  const auto model = make_llama(tiny(), 3, {.invariant = true});
  std::mt19937 random(7);
  const Ids ids = random_ids(random, 9);
  const std::vector<float> alone = one_by_one(*model, ids).back();
  for (std::size_t place = 0; place < 5; ++place) {
    PagedRunner runner(*model, {5, 60, 2, 8, 10});
    std::vector<RunnerRow> rows;
    for (std::int32_t r = 0; r < 5; ++r) {
      const auto mates = random_ids(random, 1 + below(random, 12));
      rows.push_back({{2 * r, 2 * r + 1}, 0, static_cast<std::size_t>(r) == place ? ids : mates});
    }
    EXPECT_TRUE(same_bits(runner.step(rows)[place], alone)) << "place " << place;
  }
}

TEST(Invariance, BothModesComputeTheSameModel) {
  std::mt19937 random(11);
  const Ids ids = random_ids(random, kPositions);
  const auto invariant = make_llama(tiny(), 5, {.invariant = true});
  const auto fast = make_llama(tiny(), 5, {.invariant = false});
  const auto a = one_by_one(*invariant, ids), b = one_by_one(*fast, ids);
  for (std::size_t p = 0; p < a.size(); ++p) EXPECT_LT(distance(a[p], b[p]), 1e-4f) << p;
}

TEST(Invariance, ThreadsShareAModel) {
  const auto model = make_llama(tiny(), 1, {});
  std::vector<std::thread> threads;
  std::vector<std::vector<std::vector<float>>> results(4);
  const Ids ids = {5, 4, 3, 2, 1};
  for (auto& result : results) threads.emplace_back([&] { result = one_by_one(*model, ids); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

}  // namespace
}  // namespace syncopate::models::llama
