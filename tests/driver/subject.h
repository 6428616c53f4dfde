// What the driver tries: a model under the batcher, and what it says to one request at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/models/model.h"
#include "backend/models/sampling.h"
#include "experiments/config/config.h"

namespace syncopate::driver {

/// A request's ids, prompt and answer, as they grow.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual void append(std::int32_t id) = 0;
  /// What comes next. After at least one append().
  virtual std::int32_t next() = 0;
};

/// Says what a model answers without a batch, a scheduler or a strategy.
class Speaker {
 public:
  virtual ~Speaker() = default;
  virtual std::unique_ptr<Sequence> begin(const models::Sampling& sampling) = 0;
};

struct Subject {
  std::unique_ptr<models::Model> model;
  std::unique_ptr<Speaker> speaker;  ///< May hold on to the model.
};

/// Makes the subject of a case. Its vocabulary and its longest request are those of the hash model
/// that the case was drawn with.
using MakeSubject = std::function<Subject(const experiments::HashModelConfig& drawn,
                                          const experiments::LimitsConfig& limits)>;

/// The hash model from its definition.
std::unique_ptr<Speaker> hash_speaker(const experiments::HashModelConfig& config);

}  // namespace syncopate::driver
