// Workloads for tests, and what the hash model must say to them, worked out one request at a time.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "backend/batching/batcher.h"
#include "backend/models/hash/hash_math.h"
#include "backend/models/hash/hash_model.h"

namespace syncopate::batching {

struct Workload {
  models::hash::HashConfig model;
  models::BatchLimits limits;
  std::vector<Request> requests;
};

/// A small random workload: mixed lengths, some requests that end by EOS, and limits from loose to
/// so tight that prompts are cut and requests lose their pages.
inline Workload random_workload(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&random](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  Workload workload;
  workload.model.vocab = draw(5, 40);
  workload.model.seed = draw(1, 1000);
  const std::uint32_t count = draw(1, 12);
  const std::uint32_t longest_prompt = draw(1, 20);
  const std::uint32_t longest_output = draw(1, 24);
  for (std::uint32_t i = 0; i < count; ++i) {
    Request& request = workload.requests.emplace_back();
    request.prompt.resize(draw(1, longest_prompt));
    for (std::int32_t& id : request.prompt) {
      id = static_cast<std::int32_t>(draw(0, workload.model.vocab - 1));
    }
    request.max_new_tokens = draw(1, longest_output);
    for (std::uint32_t e = draw(0, 2); e > 0; --e) {
      request.eos.push_back(static_cast<std::int32_t>(draw(0, workload.model.vocab - 1)));
    }
  }
  workload.limits.rows = draw(1, 6);
  workload.limits.tokens = workload.limits.rows + draw(0, 20);
  workload.limits.page_tokens = draw(1, 8);
  const std::uint32_t longest = longest_prompt + longest_output;
  const std::uint32_t one =
      (longest + workload.limits.page_tokens - 1) / workload.limits.page_tokens;
  workload.limits.pages = draw(one, one * workload.limits.rows);
  return workload;
}

/// The same, with nothing to go wrong in: a few requests that all fit at once.
inline Workload plain_workload(std::uint32_t count, std::uint32_t prompt, std::uint32_t output) {
  Workload workload;
  workload.model.vocab = 97;
  for (std::uint32_t i = 0; i < count; ++i) {
    Request& request = workload.requests.emplace_back();
    for (std::uint32_t p = 0; p < prompt; ++p) {
      request.prompt.push_back(static_cast<std::int32_t>((31 * i + 7 * p) % workload.model.vocab));
    }
    request.max_new_tokens = output;
  }
  workload.limits = {.rows = count,
                     .tokens = count * prompt,
                     .pages_per_row = 0,
                     .page_tokens = 4,
                     .pages = count * ((prompt + output + 3) / 4)};
  return workload;
}

/// What the hash model generates for one request, by its definition, with no batch, page or stream.
inline std::vector<std::int32_t> expected_tokens(const models::hash::HashConfig& model,
                                                 const Request& request) {
  std::vector<std::int32_t> ids = request.prompt;
  while (ids.size() < request.prompt.size() + request.max_new_tokens) {
    std::uint32_t history = model.seed;
    for (std::size_t p = 0; p < ids.size(); ++p) {
      history =
          models::hash::fold(history, models::hash::kv_entry(static_cast<std::uint32_t>(ids[p]),
                                                             static_cast<std::uint32_t>(p)));
    }
    std::uint32_t best = 0;
    for (std::uint32_t id = 1; id < model.vocab; ++id) {
      if (models::hash::logit(history, id) > models::hash::logit(history, best)) best = id;
    }
    ids.push_back(static_cast<std::int32_t>(best));
    if (std::find(request.eos.begin(), request.eos.end(), ids.back()) != request.eos.end()) break;
  }
  return {ids.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()), ids.end()};
}

inline std::vector<std::vector<std::int32_t>> expected_tokens(const Workload& workload) {
  std::vector<std::vector<std::int32_t>> all;
  for (const Request& request : workload.requests) {
    all.push_back(expected_tokens(workload.model, request));
  }
  return all;
}

/// One run of a workload on an engine, to its end.
struct Outcome {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<StepRecord> steps;
  std::uint64_t digest = 0;
  runtime::Timeline timeline;
};

inline Outcome serve(std::unique_ptr<runtime::Engine> engine, const models::Model& model,
                     const Workload& workload, BatcherOptions options,
                     runtime::RuntimeOptions runtime_options = {}) {
  runtime::Runtime runtime(std::move(engine), std::move(runtime_options));
  options.on_plan = [](const Scheduler& scheduler, const Slot&) { scheduler.verify(); };
  Batcher batcher(runtime, runtime::Device{0}, model, workload.limits, std::move(options),
                  workload.requests);
  const runtime::HostMain mains[] = {[&](runtime::Host& host) { batcher.run(host); }};
  runtime.run(mains);
  Outcome outcome;
  for (std::uint32_t i = 0; i < workload.requests.size(); ++i) {
    const auto tokens = batcher.result(i).tokens;
    outcome.tokens.emplace_back(tokens.begin(), tokens.end());
  }
  outcome.steps.assign(batcher.steps().begin(), batcher.steps().end());
  outcome.digest = batcher.tokens_digest();
  outcome.timeline = runtime.take_timeline();
  return outcome;
}

/// By the workload's own hash model.
inline Outcome serve(std::unique_ptr<runtime::Engine> engine, const Workload& workload,
                     BatcherOptions options, runtime::RuntimeOptions runtime_options = {}) {
  return serve(std::move(engine), models::hash::HashModel(workload.model), workload,
               std::move(options), std::move(runtime_options));
}

}  // namespace syncopate::batching
