// Makes a failing case small.
#pragma once

#include <functional>

#include "tests/driver/draw.h"

namespace syncopate::driver {

/// Whether a case still fails, in the way that is being looked for.
using Fails = std::function<bool(const Case&)>;

/// A case that fails too and from which nothing that is tried can be left out: a request, half of a
/// prompt or an answer, a sampling, an end, an arrival, an option of the scheduler or the strategy,
/// chaos. Delta debugging (Zeller and Hildebrandt 2002, "Simplifying and Isolating Failure-Inducing
/// Input") over the requests, then one thing after the other until nothing gives. As deterministic
/// as `fails`.
Case shrink(Case failing, const Fails& fails);

}  // namespace syncopate::driver
