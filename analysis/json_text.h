// Text as it stands in JSON.
#pragma once

#include <string>
#include <string_view>

namespace syncopate::analysis {

/// `text` in JSON, quotes included. What is not UTF-8 is replaced.
std::string json_text(std::string_view text);

}  // namespace syncopate::analysis
