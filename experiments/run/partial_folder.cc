#include "experiments/run/partial_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "experiments/run/run_folder.h"

namespace syncopate::experiments {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kUnique = "XXXXXX";  // mkdtemp's

std::string prefix_of(const fs::path& target) {
  return fmt::format(".{}.partial-", target.filename().string());
}

int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/// Removes the folders that no living run holds. One that has been made and not yet locked may be
/// among them; its maker looks again after locking.
void remove_abandoned(const fs::path& target) {
  const std::string prefix = prefix_of(target);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(target.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kUnique.size()) continue;
    const int folder = open_folder(entry.path());
    if (folder < 0) continue;
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    ::close(folder);
  }
}

}  // namespace

PartialFolder::PartialFolder(const fs::path& target) {
  remove_abandoned(target);
  std::error_code error;
  do {
    if (lock_ >= 0) ::close(lock_);
    std::string path = (target.parent_path() / (prefix_of(target) + std::string(kUnique))).string();
    if (::mkdtemp(path.data()) == nullptr) {
      throw RunFolderError(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
    }
    path_ = path;
    lock_ = open_folder(path_);
    if (lock_ >= 0) ::flock(lock_, LOCK_EX);  // where there are no locks, none is needed
  } while (!fs::exists(path_, error));
  fs::permissions(path_, fs::perms(0755), error);  // mkdtemp's are the owner's alone
}

std::size_t PartialFolder::name_length(const fs::path& target) {
  return prefix_of(target).size() + kUnique.size();
}

PartialFolder::~PartialFolder() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace syncopate::experiments
