#include "experiments/run/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>  // renameat2
#include <cstdlib>
#include <cstring>
#include <string>

namespace syncopate::experiments {

namespace fs = std::filesystem;

namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(descriptor) == 0;
}

}  // namespace

void write_whole_file(const fs::path& file, std::string_view text, bool replace) {
  const auto fail = [&file](int error) {
    throw FileWriteError(fmt::format("cannot write {}: {}", file.string(), std::strerror(error)));
  };
  const fs::path target = fs::absolute(file);
  std::string partial =
      (target.parent_path() / fmt::format(".{}.partial-XXXXXX", target.filename().string()))
          .string();
  const int descriptor = ::mkstemp(partial.data());
  if (descriptor < 0) fail(errno);
  ::fchmod(descriptor, 0644);  // mkstemp's is the owner's alone
  int error = write_all(descriptor, text) ? 0 : errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(),
                                replace ? 0 : RENAME_NOREPLACE) != 0) {
    error = errno;
  }
  if (error == 0) return;
  ::unlink(partial.c_str());
  fail(error);
}

}  // namespace syncopate::experiments
