// Traces of requests that servers got: when each came, and how many tokens it brought and was
// given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "backend/runtime/handles.h"

namespace syncopate::experiments {

struct TracedRequest {
  runtime::Nanos arrival = 0;  ///< After the earliest of the trace.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
};

/// Reads a CSV file in one of three layouts, told by its head:
///
///   arrival_s,prompt_tokens,output_tokens     seconds from any origin
///   TIMESTAMP,ContextTokens,GeneratedTokens   a date and time; the Azure LLM inference traces
///   Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
///                                             seconds; BurstGPT
///
/// Rows need not be in the order of time. Throws yaml::ConfigError at the file, line and column of
/// what cannot be read, and where there is no request.
std::vector<TracedRequest> read_request_trace(const std::filesystem::path& file);

}  // namespace syncopate::experiments
