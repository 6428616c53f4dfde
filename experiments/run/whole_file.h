// A file that is there whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "backend/runtime/error.h"

namespace syncopate::experiments {

class FileWriteError : public runtime::Error {
  using Error::Error;
};

/// Writes `text` under a temporary name beside `file`, flushes it to the disk and renames it; a
/// file that is there is replaced only with `replace`. Throws FileWriteError, and then leaves
/// nothing.
void write_whole_file(const std::filesystem::path& file, std::string_view text, bool replace);

}  // namespace syncopate::experiments
