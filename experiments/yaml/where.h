// Where a value was written: a place in a file, or an option of the command line.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace syncopate::experiments::yaml {

struct Where {
  std::shared_ptr<const std::string> source;  ///< A file's name, or "--set a.b". Shared by a file's
                                              ///< values: one may hold a million of them.
  int line = 0;                               ///< From 1; 0 when the source has no lines.
  int column = 0;                             ///< From 1, in bytes.

  /// "file:line:column", or the source alone.
  std::string text() const;
};

/// Where each value of a configuration came from, by its path ("strategy.slots",
/// "requests[3].eos"). A value that is not listed has its default.
class Origins {
 public:
  void set(std::string path, Where where) { places_[std::move(path)] = std::move(where); }
  bool written(std::string_view path) const { return places_.find(path) != places_.end(); }
  /// The value's place; if it was not written, the place of what would hold it.
  const Where& find(std::string_view path) const;

 private:
  std::map<std::string, Where, std::less<>> places_;
};

}  // namespace syncopate::experiments::yaml
