// Runs a case and says what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/driver/draw.h"
#include "tests/driver/subject.h"

namespace syncopate::driver {

struct PlayOptions {
  experiments::RuntimeKind runtime = experiments::RuntimeKind::kSim;  ///< Or real: kCpu, kCuda.
  /// Sites to leave out of the program (runtime::RuntimeOptions): mistakes made on purpose.
  std::vector<std::string> removed_sites;
  MakeSubject make_subject;  ///< Empty: the hash model of the case.
};

struct Failure {
  bool synchronous = false;  ///< Which of the case's two strategies it was.
  std::string check;         ///< The rule that was broken, in a word or two.
  std::string text;
};

/// One run of a configuration.
struct Played {
  std::uint64_t digest = 0;
  std::uint64_t steps = 0;
  std::optional<Failure> failure;
};

/// Runs `c` by its synchronous or asynchronous strategy and holds it against the oracle. All that a
/// run throws is a failure too.
Played play(const Case& c, bool synchronous, const PlayOptions& options);

/// Both strategies, each against the oracle: so each against the other, request by request. The
/// first failure, if there is one.
std::optional<Failure> play(const Case& c, const PlayOptions& options);

/// The configuration that a strategy of the case runs.
experiments::BatchingConfig config_of(const Case& c, bool synchronous);

}  // namespace syncopate::driver
