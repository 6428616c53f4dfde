#include "tests/driver/mutation.h"

#include <algorithm>

#include "backend/runtime/error.h"

namespace syncopate::driver {

int active_mutation = -1;

const Mutation& find_mutation(std::string_view name) {
  const auto all = mutations();
  const auto found = std::ranges::find(all, name, &Mutation::name);
  if (found == all.end()) {
    throw runtime::UsageError("this program has no mutation " + std::string(name));
  }
  return *found;
}

std::vector<std::string> switch_on(const Mutation& mutation) {
  active_mutation = static_cast<int>(&mutation - mutations().data());
  if (mutation.removed_site.empty()) return {};
  return {std::string(mutation.removed_site)};
}

}  // namespace syncopate::driver
