// What each request must get, worked out one request at a time: with no batch, stream or
// scheduler; of the hash model from its definition and that of sampling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/batching/request.h"
#include "experiments/config/config.h"
#include "tests/driver/subject.h"

namespace syncopate::driver {

struct Answer {
  std::vector<std::int32_t> tokens;
  batching::FinishReason reason = batching::FinishReason::kNone;
  /// Its client gives up at some time: it may end as cancelled after any of the tokens. Without any
  /// when it gave up before it came.
  bool may_be_cut = false;
  bool is_cut_before_it_comes = false;
  /// Another that came no later has the same id: it may be refused for that.
  bool may_be_refused = false;
};

/// The answers of `speaker` to `requests`, which are the configuration's as make_requests() gives
/// them.
std::vector<Answer> answers(const experiments::BatchingConfig& config,
                            const std::vector<batching::Request>& requests, Speaker& speaker);

/// What the hash model says to a request of which only the length ends the answer.
std::vector<std::int32_t> unended_answer(const experiments::HashModelConfig& model,
                                         const experiments::RequestConfig& request);

/// Why an outcome is wrong; empty if it is right.
std::string difference(const Answer& answer, const batching::RequestResult& result);

}  // namespace syncopate::driver
