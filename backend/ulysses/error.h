// What can be wrong with a pass, as a type that callers and tests can tell apart.
#pragma once

#include <cstdint>
#include <string>

#include "backend/runtime/error.h"

namespace syncopate::ulysses {

enum class Fault : std::uint8_t {
  kEmpty,               ///< A dimension is 0: no ranks, heads, tokens, …
  kHeadsNotDivisible,   ///< The ranks do not divide the heads.
  kKvHeadsDoNotDivide,  ///< The K/V heads do not divide the query heads.
  kSequenceSplit,       ///< The split of the sequence gives no rank any tokens.
  kEmptyBand,           ///< A band of the schedule has no heads.
  kBandPastLocalHeads,  ///< A band reaches past a rank's heads.
  kScheduleIncomplete,  ///< The bands do not add up to a rank's heads.
  kTooLarge,            ///< A payload or pitch past what an index holds.
  kNoSuchBand,          ///< A band or rank that the layout does not have.
  kShape,               ///< A tensor's shape is not what the layout says: K unlike Q, …
  kAliasing,            ///< The output shares a buffer with an input or a workspace.
  kWorkspaceTooSmall,   ///< The text says what it needs and has.
  kCollectiveInFlight,  ///< A second collective on one communicator, or none to finish.
  kUnsupported,         ///< An element type or a size that a kernel does not take.
};

class UlyssesError : public runtime::UsageError {
 public:
  UlyssesError(Fault fault, const std::string& what)
      : runtime::UsageError("ulysses: " + what), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

}  // namespace syncopate::ulysses
