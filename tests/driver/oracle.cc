#include "tests/driver/oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "backend/models/hash/hash_math.h"
#include "tests/models/choose_oracle.h"

namespace syncopate::driver {
namespace {

using batching::FinishReason;
using batching::Request;
using experiments::BatchingConfig;
using experiments::HashModelConfig;
using models::RowSampling;

std::uint32_t fixed(double value) {
  const auto steps = static_cast<std::uint32_t>(std::lround(value * RowSampling::kOne));
  return value > 0 ? std::max(steps, 1U) : steps;
}

RowSampling fixed(const models::Sampling& s) {
  return {.temperature = fixed(s.temperature),
          .top_k = s.top_k,
          .top_p = fixed(s.top_p),
          .min_p = fixed(s.min_p),
          .penalty = fixed(s.repetition_penalty),
          .seed = s.seed};
}

/// Keeps the state that the hash model folds a request's ids into.
class HashSequence final : public Sequence {
 public:
  HashSequence(const HashModelConfig& model, const models::Sampling& sampling)
      : vocab_(model.vocab), sampling_(fixed(sampling)), state_(model.seed), occurs_(model.vocab) {}

  void append(std::int32_t id) override {
    const auto known = static_cast<std::uint32_t>(id);
    state_ = models::hash::fold(state_, models::hash::kv_entry(known, length_++));
    occurs_[known] = true;
  }
  std::int32_t next() override {
    std::vector<std::int64_t> scores(vocab_);
    for (std::uint32_t id = 0; id < vocab_; ++id) {
      scores[id] = models::hash::score(models::hash::logit(state_, id));
      if (occurs_[id]) scores[id] = models::hash::penalised(scores[id], sampling_.penalty);
    }
    return static_cast<std::int32_t>(models::hash::defined_choice(
        scores, sampling_, models::random_bits(sampling_.seed, length_)));
  }

 private:
  std::uint32_t vocab_;
  RowSampling sampling_;
  std::uint32_t state_;
  std::uint32_t length_ = 0;
  std::vector<bool> occurs_;
};

class HashSpeaker final : public Speaker {
 public:
  explicit HashSpeaker(const HashModelConfig& config) : config_(config) {}
  std::unique_ptr<Sequence> begin(const models::Sampling& sampling) override {
    return std::make_unique<HashSequence>(config_, sampling);
  }

 private:
  HashModelConfig config_;
};

bool ends_with(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sequence) {
  return tokens.size() >= sequence.size() &&
         std::ranges::equal(tokens.last(sequence.size()), sequence);
}

FinishReason reason_after(const std::vector<std::int32_t>& tokens, const Request& request) {
  if (std::ranges::count(request.eos, tokens.back()) > 0) return FinishReason::kEos;
  for (const auto& sequence : request.stop) {
    if (ends_with(tokens, sequence)) return FinishReason::kStop;
  }
  if (tokens.size() == request.cancel_tokens) return FinishReason::kCancelled;
  return tokens.size() == request.max_new_tokens ? FinishReason::kLength : FinishReason::kNone;
}

bool can_be_served(const BatchingConfig& config, const HashModelConfig& model,
                   const Request& request) {
  if (request.prompt.empty() || request.max_new_tokens == 0) return false;
  const auto outside = [&model](std::int32_t id) {
    return id < 0 || id >= static_cast<std::int64_t>(model.vocab);
  };
  if (std::ranges::any_of(request.prompt, outside)) return false;
  const std::uint64_t total = request.prompt.size() + std::uint64_t{request.max_new_tokens};
  // The token sampled last is no input: it needs no entry.
  const std::uint64_t entries = std::uint64_t{config.limits.pages} * config.limits.page_tokens;
  return total <= model.max_positions && total - 1 <= entries;
}

Answer answer(const BatchingConfig& config, const Request& request, Speaker& speaker) {
  Answer right;
  if (!can_be_served(config, std::get<HashModelConfig>(config.model), request)) {
    right.reason = FinishReason::kRefused;
    return right;
  }
  const auto sequence = speaker.begin(request.sampling);
  for (const std::int32_t id : request.prompt) sequence->append(id);
  for (;;) {
    right.tokens.push_back(sequence->next());
    right.reason = reason_after(right.tokens, request);
    if (right.reason != FinishReason::kNone) break;
    sequence->append(right.tokens.back());
  }
  right.may_be_cut = request.cancel != batching::kNever;
  right.is_cut_before_it_comes = request.cancel <= request.arrival;
  return right;
}

}  // namespace

std::unique_ptr<Speaker> hash_speaker(const HashModelConfig& config) {
  return std::make_unique<HashSpeaker>(config);
}

std::vector<Answer> answers(const BatchingConfig& config, const std::vector<Request>& requests,
                            Speaker& speaker) {
  std::vector<Answer> all;
  for (const Request& request : requests) all.push_back(answer(config, request, speaker));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t j = 0; j < requests.size(); ++j) {
      const bool before = requests[j].arrival < requests[i].arrival ||
                          (requests[j].arrival == requests[i].arrival && j < i);
      if (before && requests[i].id && requests[j].id == requests[i].id &&
          all[j].reason != FinishReason::kRefused) {
        all[i].may_be_refused = true;
      }
    }
  }
  return all;
}

std::vector<std::int32_t> unended_answer(const HashModelConfig& model,
                                         const experiments::RequestConfig& request) {
  HashSequence sequence(model, request.sampling);
  for (const std::int32_t id : request.prompt.value()) sequence.append(id);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < request.max_new_tokens; ++i) {
    tokens.push_back(sequence.next());
    sequence.append(tokens.back());
  }
  return tokens;
}

std::string difference(const Answer& answer, const batching::RequestResult& result) {
  const auto text = [&](std::string_view why) {
    return fmt::format("{}: expected {} [{}], got {} [{}] {}", why, to_string(answer.reason),
                       fmt::join(answer.tokens, " "), to_string(result.reason),
                       fmt::join(result.tokens, " "), result.error);
  };
  if (result.reason == FinishReason::kNone) return text("it never ended");
  if (result.reason == FinishReason::kRefused) {
    if (answer.reason != FinishReason::kRefused && !answer.may_be_refused) {
      return text("it was refused");
    }
    return result.tokens.empty() && !result.error.empty() ? "" : text("badly refused");
  }
  if (answer.reason == FinishReason::kRefused) return text("it was served");
  if (!result.error.empty()) return text("it has an error");
  if (answer.is_cut_before_it_comes) {
    return result.reason == FinishReason::kCancelled && result.tokens.empty()
               ? ""
               : text("its client was gone before it came");
  }
  if (result.reason == FinishReason::kCancelled && answer.may_be_cut) {
    const bool prefix =
        result.tokens.size() <= answer.tokens.size() &&
        std::ranges::equal(result.tokens, std::span(answer.tokens).first(result.tokens.size()));
    return prefix ? "" : text("no prefix");
  }
  if (!std::ranges::equal(result.tokens, answer.tokens)) return text("other tokens");
  return result.reason == answer.reason ? "" : text("another end");
}

}  // namespace syncopate::driver
