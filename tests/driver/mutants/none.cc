// In place of what mutate.py writes, in programs without mutations.
#include "tests/driver/mutation.h"

namespace syncopate::driver {

std::span<const Mutation> mutations() { return {}; }

}  // namespace syncopate::driver
