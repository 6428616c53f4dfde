// What analysis throws.
#pragma once

#include "backend/runtime/error.h"

namespace syncopate::analysis {

/// A timeline that contradicts itself or lacks what was asked of it: an index out of range, a
/// stream's commands out of order, no calls where the checker needs them.
class InvalidTimelineError : public runtime::Error {
  using Error::Error;
};

/// A wait that nothing in the timeline satisfies: work behind it never ran, so no order can be
/// given for it. The text names each stream and host that is stuck and what it waits for.
class UnsatisfiedWaitError : public runtime::Error {
  using Error::Error;
};

/// A file that cannot be read, written or understood. The text begins with the file's name.
class FileError : public runtime::Error {
  using Error::Error;
};

}  // namespace syncopate::analysis
