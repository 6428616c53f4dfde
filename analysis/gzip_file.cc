#include "analysis/gzip_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "analysis/error.h"

namespace syncopate::analysis {
namespace {

// Of a trace, level 1 makes 1.6 times the bytes of level 6 in 0.4 of its time.
constexpr const char* kMode = "wb1";

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  const char* reason = error == 0 ? "cannot be compressed" : std::strerror(error);
  throw FileError(file.string() + ": cannot be written: " + reason);
}

}  // namespace

GzipFile::GzipFile(std::filesystem::path file) : path_(std::move(file)) {
  errno = 0;
  file_.reset(::gzopen(path_.c_str(), kMode));
  if (!file_) fail(path_, errno == 0 ? ENOMEM : errno);
}

void GzipFile::write(std::string_view text) {
  errno = 0;
  if (!text.empty() && ::gzfwrite(text.data(), text.size(), 1, file_.get()) != 1) {
    fail(path_, errno);
  }
}

void GzipFile::close() {
  errno = 0;
  if (::gzclose(file_.release()) != Z_OK) fail(path_, errno);
}

}  // namespace syncopate::analysis
