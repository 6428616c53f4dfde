// The hidden folder that a run's files are written into before it has its name.
#pragma once

#include <cstddef>
#include <filesystem>

namespace syncopate::experiments {

/// What becomes of the hidden folders that killed runs to the same target have left.
enum class Abandoned {
  kRemove,
  kLeave,  ///< For many targets in one folder: see PartialFolder::remove_abandoned().
};

/// Makes `.NAME.partial-XXXXXX` beside a target of that name, and holds a lock on it that ends with
/// the process. So what a killed run left is told from what another run is still writing: the next
/// run to the same target removes the one and leaves the other alone.
///
/// On a file system without locks for folders nothing is removed.
class PartialFolder {
 public:
  /// Throws RunFolderError when the folder cannot be made. The parent of `target` must exist.
  explicit PartialFolder(const std::filesystem::path& target,
                         Abandoned abandoned = Abandoned::kRemove);
  /// Gives up the lock; what becomes of the folder is its owner's business.
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Removes what killed runs left in `parent`, to whichever target there.
  static void remove_abandoned(const std::filesystem::path& parent);

  /// Bytes of the name that the folder beside `target` gets.
  static std::size_t name_length(const std::filesystem::path& target);

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace syncopate::experiments
