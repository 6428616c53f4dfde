#include "experiments/run/partial_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

/// Removes, of the folders in `parent` whose names are `wanted`, those that no living run holds.
/// One that has been made and not yet locked may be among them; its maker looks again after
/// locking.
template <class Wanted>
void remove_unheld(const fs::path& parent, const Wanted& wanted) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() < kUnique.size() || !wanted(name.substr(0, name.size() - kUnique.size()))) {
      continue;
    }
    const int folder = open_folder(entry.path());
    if (folder < 0) continue;
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    ::close(folder);
  }
}

}  // namespace

PartialFolder::PartialFolder(const fs::path& target, Abandoned abandoned) {
  if (abandoned == Abandoned::kRemove) {
    const std::string prefix = prefix_of(target);
    remove_unheld(target.parent_path(), [&](const auto& begin) { return begin == prefix; });
  }
  std::error_code error;
  do {
    if (lock_ >= 0) ::close(lock_);
    std::string path = (target.parent_path() / (prefix_of(target) + std::string(kUnique))).string();
    if (::mkdtemp(path.data()) == nullptr) throw_folder_error("make", path, errno);
    path_ = path;
    lock_ = open_folder(path_);
    if (lock_ >= 0) ::flock(lock_, LOCK_EX);  // where there are no locks, none is needed
  } while (!fs::exists(path_, error));
  fs::permissions(path_, fs::perms(0755), error);  // mkdtemp's are the owner's alone
}

void PartialFolder::remove_abandoned(const fs::path& parent) {
  remove_unheld(parent, [](const std::string& begin) {
    return begin.starts_with('.') && begin.ends_with(".partial-");
  });
}

std::size_t PartialFolder::name_length(const fs::path& target) {
  return prefix_of(target).size() + kUnique.size();
}

PartialFolder::~PartialFolder() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace syncopate::experiments
