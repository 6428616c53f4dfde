#include "experiments/yaml/where.h"

#include <fmt/format.h>

namespace syncopate::experiments::yaml {

std::string Where::text() const {
  const std::string_view name = source ? std::string_view(*source) : "(default)";
  return line == 0 ? std::string(name) : fmt::format("{}:{}:{}", name, line, column);
}

const Where& Origins::find(std::string_view path) const {
  static const Where kNowhere;
  for (;;) {
    if (const auto found = places_.find(path); found != places_.end()) return found->second;
    if (path.empty()) return kNowhere;
    const auto cut = path.find_last_of(".[");
    path = cut == std::string_view::npos ? std::string_view() : path.substr(0, cut);
  }
}

}  // namespace syncopate::experiments::yaml
