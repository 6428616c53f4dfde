#include "experiments/run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

namespace syncopate::experiments {

namespace fs = std::filesystem;

void throw_folder_error(std::string_view what, const fs::path& path, int error) {
  const std::string text =
      fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) throw DiskFullError(text);
  throw RunFolderError(text);
}

namespace {

void flush(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw_folder_error("open", path, errno);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  // Some file systems cannot flush a folder; what they hold is then theirs to keep.
  if (failed != 0 && failed != EINVAL && failed != EROFS) throw_folder_error("flush", path, failed);
}

bool is_run_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / "metrics.json", error) &&
         fs::is_regular_file(path / "config.yaml", error);
}

/// "a/b/" and "." have no last name of their own.
fs::path named(const fs::path& path) {
  fs::path full = fs::absolute(path).lexically_normal();
  return full.has_filename() ? full : full.parent_path();
}

/// Gives `from` the name `to`, and what has that name the name `from`.
bool exchange(const fs::path& from, const fs::path& to) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace

void check_target(const fs::path& target, bool force) {
  const fs::path full = named(target);
  std::error_code error;
  const auto status = fs::symlink_status(full, error);
  if (status.type() == fs::file_type::none) throw_folder_error("look at", target, error.value());
  // The run is written beside the target, whether that is there or not.
  if (PartialFolder::name_length(full) > NAME_MAX) throw_folder_error("make", target, ENAMETOOLONG);
  fs::path parent = full.parent_path();
  while (!fs::exists(parent, error) && parent.has_relative_path()) parent = parent.parent_path();
  const auto check_parent = [&parent] {
    std::error_code ignored;
    if (!fs::is_directory(parent, ignored)) throw_folder_error("make a folder in", parent, ENOTDIR);
    if (::access(parent.c_str(), W_OK | X_OK) != 0)
      throw_folder_error("make a folder in", parent, errno);
  };
  if (!fs::exists(status)) return check_parent();
  if (fs::is_directory(status) && fs::is_empty(target, error) && !error) return check_parent();
  if (!fs::is_directory(status) || !is_run_folder(target)) {
    throw RunFolderExistsError(target.string() +
                               " exists and is no run's folder: choose another with --out");
  }
  if (!force) {
    throw RunFolderExistsError(target.string() +
                               " exists: replace it with --force, or choose another with --out");
  }
  check_parent();
}

RunFolder::RunFolder(const fs::path& target, bool force, Abandoned abandoned)
    : target_(named(target)), force_(force) {
  check_target(target_, force_);
  std::error_code error;
  fs::create_directories(target_.parent_path(), error);
  if (error) throw_folder_error("make", target_.parent_path(), error.value());
  partial_.emplace(target_, abandoned);
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(folder(), ignored);
}

void RunFolder::write(const std::string& name, std::string_view text) {
  const fs::path path = folder() / name;
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw_folder_error("write", path, errno == 0 ? EIO : errno);
}

void RunFolder::commit() {
  const fs::path& partial = folder();
  for (const auto& entry : fs::recursive_directory_iterator(partial)) flush(entry.path());
  flush(partial);
  check_target(target_, force_);  // it may have come to be during the run
  std::error_code error;
  if (!fs::exists(target_, error) || fs::is_empty(target_, error)) {
    if (::rename(partial.c_str(), target_.c_str()) != 0) throw_folder_error("name", target_, errno);
  } else if (exchange(partial, target_)) {
    fs::remove_all(partial, error);
  } else {
    // No exchange on this file system: for a moment neither run has the name.
    const fs::path old = partial.string() + ".old";
    if (::rename(target_.c_str(), old.c_str()) != 0) throw_folder_error("move", target_, errno);
    if (::rename(partial.c_str(), target_.c_str()) != 0) throw_folder_error("name", target_, errno);
    fs::remove_all(old, error);
  }
  committed_ = true;
  flush(target_.parent_path());
}

}  // namespace syncopate::experiments
