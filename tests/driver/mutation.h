// Mistakes made on purpose, to see that the driver finds them. Programs that are built for it are
// compiled from sources with all mistakes in place (mutate.py), of which one is on at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::driver {

struct Mutation {
  std::string_view name;
  std::string_view place;         ///< The file, or the site that is left out.
  std::string_view removed_site;  ///< Empty: the mistake is in the file.
};

/// All of them; none in a program that is compiled from the sources as they are.
std::span<const Mutation> mutations();

/// Throws runtime::UsageError when there is none of that name.
const Mutation& find_mutation(std::string_view name);

/// Which one is on, as an index; -1: none. Set before a run.
extern int active_mutation;

/// Switches the mistake on until the next call, and says which sites are to be left out for it.
std::vector<std::string> switch_on(const Mutation& mutation);

}  // namespace syncopate::driver
