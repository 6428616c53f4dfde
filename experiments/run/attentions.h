// What a Ulysses pass is made of, by runtime: the one place where a configuration becomes what
// computes a band and what moves it.
#pragma once

#include <memory>
#include <string>

#include "backend/ulysses/attention.h"
#include "backend/ulysses/packed_communicator.h"
#include "experiments/config/ulysses_config.h"

namespace syncopate::experiments {

/// Throws runtime::UnavailableError where this build lacks it.
std::unique_ptr<ulysses::Attention> make_attention(const UlyssesConfig& config);

/// Whether there is one for a runtime in this build: empty, or what is missing.
std::string what_is_missing_for_attention(RuntimeKind runtime);

/// CUDA bodies of the packed transport where a variant needs them, else null. They must outlive the
/// runtime. Throws runtime::UnavailableError where this build lacks them.
std::unique_ptr<ulysses::PackedDevice> make_packed_device(const UlyssesConfig& config);

/// Whether there is a transport for a runtime in this build, as above.
std::string what_is_missing(ulysses::Transport transport, RuntimeKind runtime);

}  // namespace syncopate::experiments
