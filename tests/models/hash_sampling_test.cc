// Sampling in the hash model's step: pages, histories, batch-mates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backend/models/batch_view.h"
#include "backend/models/hash/hash_math.h"
#include "backend/models/hash/hash_model.h"
#include "tests/models/choose_oracle.h"
#include "tests/models/paged_runner.h"

namespace syncopate::models::hash {
namespace {

Sampling random_sampling(std::mt19937_64& random) {
  const auto share = [&] { return static_cast<double>(1 + random() % 1000) / 1000; };
  Sampling sampling;
  if (random() % 4) sampling.temperature = 3 * share();
  if (random() % 2) sampling.top_k = static_cast<std::uint32_t>(random() % 30);
  if (random() % 2) sampling.top_p = share();
  if (random() % 2) sampling.min_p = share() / 10;
  if (random() % 2) sampling.repetition_penalty = 0.5 + 2 * share();
  sampling.seed = random();
  return sampling;
}

Ids random_ids(std::mt19937_64& random, std::size_t count, std::uint32_t vocab) {
  Ids ids(count);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % vocab);
  return ids;
}

// The penalised scores after `ids`, from the definitions of the hash and of the penalty.
std::vector<std::int64_t> scores_after(const HashConfig& config, const Ids& ids, double penalty) {
  std::uint32_t state = config.seed;
  for (std::size_t p = 0; p < ids.size(); ++p) {
    state =
        fold(state, kv_entry(static_cast<std::uint32_t>(ids[p]), static_cast<std::uint32_t>(p)));
  }
  const std::set<std::int32_t> seen(ids.begin(), ids.end());
  const long double steps = std::round(penalty * 65536) / 65536;
  std::vector<std::int64_t> scores(config.vocab);
  for (std::uint32_t id = 0; id < config.vocab; ++id) {
    long double value = static_cast<long double>(logit(state, id)) - 0x1p31L;
    if (seen.count(static_cast<std::int32_t>(id)))
      value = value > 0 ? value / steps : value * steps;
    scores[id] = static_cast<std::int64_t>(value);
  }
  return scores;
}

// One request alone, token by token, in a single page.
Ids generate_alone(const HashModel& model, const Ids& prompt, const Sampling& sampling,
                   std::size_t count) {
  const auto length = static_cast<std::uint32_t>(prompt.size() + count);
  PagedRunner runner(
      model, {.rows = 1, .tokens = 1, .pages_per_row = 1, .page_tokens = length, .pages = 1});
  Ids ids = prompt;
  for (std::int32_t p = 0; ids.size() < length; ++p) {
    const Ids next = runner.next({{{0}, p, {ids[static_cast<std::size_t>(p)]}, sampling}});
    if (static_cast<std::size_t>(p) + 1 == ids.size()) ids.push_back(next[0]);
  }
  return ids;
}

TEST(HashSampling, FollowsTheDefinitionTokenByToken) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const HashConfig config{.vocab = static_cast<std::uint32_t>(2 + random() % 60),
                            .seed = static_cast<std::uint32_t>(seed)};
    const HashModel model(config);
    const Sampling sampling = random_sampling(random);
    const Ids prompt = random_ids(random, 1 + random() % 9, config.vocab);
    const Ids ids = generate_alone(model, prompt, sampling, 12);

    const BatchLayout one(
        {.rows = 1, .tokens = 1, .pages_per_row = 1, .page_tokens = 1, .pages = 1});
    Ids block(one.input_words());
    const SamplingWords words = encode(sampling);
    std::copy(words.begin(), words.end(), block.begin() + one.sampling());
    const RowSampling row = BatchView(block.data(), one).sampling(0);
    for (std::size_t length = prompt.size(); length < ids.size(); ++length) {
      const Ids past(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(length));
      const auto values = scores_after(config, past, sampling.repetition_penalty);
      const auto bits = random_bits(sampling.seed, static_cast<std::uint32_t>(length));
      ASSERT_EQ(ids[length], static_cast<std::int32_t>(defined_choice(values, row, bits)));
    }
  }
}

// Requests in one batch, each a step behind the next, on scattered pages, their prompts in chunks;
// then one is thrown out, comes back in another row on other pages, and computes all again.
TEST(HashSampling, DependsNeitherOnBatchMatesNorOnPlaceNorOnRecomputation) {
  constexpr std::size_t kRequests = 4, kNew = 10;
  const HashModel model({.vocab = 50});
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PagedRunner runner(
        model, {.rows = 4, .tokens = 120, .pages_per_row = 10, .page_tokens = 3, .pages = 80});
    Pages pool(80);
    std::iota(pool.begin(), pool.end(), 0);
    std::shuffle(pool.begin(), pool.end(), random);
    const auto take_pages = [&] {
      const Pages taken(pool.end() - 10, pool.end());
      pool.resize(pool.size() - 10);
      return taken;
    };
    struct Request {
      Ids expected, ids;
      Sampling sampling;
      Pages pages;
      std::size_t done = 0;
    };
    std::vector<Request> requests(kRequests);
    for (Request& request : requests) {
      request.sampling = random_sampling(random);
      request.ids = random_ids(random, 1 + random() % 15, 50);
      request.expected = generate_alone(model, request.ids, request.sampling, kNew);
      request.pages = take_pages();
    }
    bool thrown_out = false;
    for (;;) {
      std::shuffle(requests.begin(), requests.end(), random);
      std::vector<RunnerRow> rows;
      std::vector<Request*> in_row;
      for (Request& request : requests) {
        if (request.ids.size() == request.expected.size() || random() % 3 == 0) continue;
        const std::size_t left = request.ids.size() - request.done;
        const auto from = request.ids.begin() + static_cast<std::ptrdiff_t>(request.done);
        const auto count = static_cast<std::ptrdiff_t>(1 + random() % left);
        rows.push_back({request.pages, static_cast<std::int32_t>(request.done),
                        Ids(from, from + count), request.sampling});
        in_row.push_back(&request);
      }
      const Ids next = runner.next(rows);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        in_row[r]->done += rows[r].ids.size();
        if (in_row[r]->done == in_row[r]->ids.size()) in_row[r]->ids.push_back(next[r]);
      }
      if (!thrown_out && requests[0].ids.size() + 4 > requests[0].expected.size()) {
        thrown_out = true;
        requests[0].done = 0;
        requests[0].pages = take_pages();
      }
      if (std::all_of(requests.begin(), requests.end(), [](const Request& request) {
            return request.ids.size() == request.expected.size();
          })) {
        break;
      }
    }
    for (const Request& request : requests) EXPECT_EQ(request.ids, request.expected);
  }
}

TEST(HashSampling, NeverRepeatsUnderALargePenaltyWhileAnotherIdIsPositive) {
  constexpr std::uint32_t kVocab = 64;
  const HashConfig config{.vocab = kVocab};
  for (const double temperature : {0.0, 0.01}) {
    const Ids ids = generate_alone(HashModel(config), {1, 2, 3},
                                   {.temperature = temperature, .repetition_penalty = 100}, 20);
    // With 40 of 64 ids unseen, some logit is positive; the best of them is far above a hundredth.
    EXPECT_EQ(std::set<std::int32_t>(ids.begin(), ids.end()).size(), ids.size());
  }
}

TEST(HashSampling, ChangesNothingWithAPenaltyOfOneOrWithAnotherSeedWhenGreedy) {
  const HashModel model({.vocab = 40});
  const Ids greedy = generate_alone(model, {5, 6}, {}, 30);
  EXPECT_EQ(generate_alone(model, {5, 6}, {.repetition_penalty = 1, .seed = 99}, 30), greedy);
  EXPECT_EQ(generate_alone(model, {5, 6}, {.temperature = 2, .top_k = 1, .seed = 7}, 30), greedy);
  EXPECT_EQ(generate_alone(model, {5, 6}, {.temperature = 2, .top_p = 1e-6, .seed = 7}, 30),
            greedy);
  EXPECT_NE(generate_alone(model, {5, 6}, {.temperature = 2, .seed = 7}, 30),
            generate_alone(model, {5, 6}, {.temperature = 2, .seed = 8}, 30));
}

// More ids than a pass notes at a time.
TEST(HashSampling, PenalisesInVocabulariesOfAnySize) {
  const HashConfig config{.vocab = 100'000};
  const HashModel model(config);
  Ids ids = {99'999, 0, 40'000};
  for (int i = 0; i < 3; ++i) {
    const auto scores = scores_after(config, ids, 3);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    EXPECT_EQ(generate_alone(model, ids, {.repetition_penalty = 3}, 1).back(), best);
    // The best without a penalty, so that it would come again.
    ids.push_back(generate_alone(model, ids, {}, 1).back());
    EXPECT_NE(generate_alone(model, ids, {.temperature = 1, .repetition_penalty = 100}, 1).back(),
              ids.back());
  }
}

TEST(HashSampling, StaysInItsMemoryWhateverTheInputBlockHolds) {
  const HashModel model({.vocab = 40});
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    PagedRunner runner(model,
                       {.rows = 3, .tokens = 9, .pages_per_row = 2, .page_tokens = 4, .pages = 5});
    for (std::int32_t& word : runner.inputs()) {
      word = static_cast<std::int32_t>(seed % 2 == 0 ? random() : random() % 12);
    }
    runner.run();
    for (const std::int32_t id : runner.next_ids()) {
      EXPECT_GE(id, -1) << "seed " << seed;
      EXPECT_LT(id, 40) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace syncopate::models::hash
