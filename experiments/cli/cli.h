// The command line `syncopate`.
#pragma once

namespace syncopate::experiments::cli {

inline constexpr int kOk = 0;
inline constexpr int kRacesFound = 1;  ///< `check` only.
inline constexpr int kUsageError = 2;  ///< Command line or configuration; nothing was written.
inline constexpr int kRunFailed = 3;

/// Does what the arguments say and returns the exit status. Results go to stdout, errors to stderr
/// in one line each; without any argument, the help to stderr. Never throws.
int run(int argc, const char* const* argv);

}  // namespace syncopate::experiments::cli
