// A failing case as files that `syncopate run` takes.
#pragma once

#include <filesystem>

#include "tests/driver/play.h"

namespace syncopate::driver {

/// Writes the configuration of one strategy of the case to FOLDER/seed-N.yaml, with what it should
/// say of itself on top, and its machine beside it. Returns the file. Throws runtime::Error when it
/// cannot be written.
std::filesystem::path write_replay(const Case& c, const Failure& failure,
                                   experiments::RuntimeKind runtime,
                                   const std::filesystem::path& folder);

}  // namespace syncopate::driver
