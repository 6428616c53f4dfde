// The revision of the source that this program was built from.
#pragma once

namespace syncopate::experiments {

/// As "3fa94c1d02be" or "3fa94c1d02be-dirty"; "unknown" outside of git.
const char* revision();

}  // namespace syncopate::experiments
