// A run's folder: complete or not there at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "backend/runtime/error.h"
#include "experiments/run/partial_folder.h"

namespace syncopate::experiments {

/// The folder cannot be made or written.
class RunFolderError : public runtime::Error {
  using Error::Error;
};

/// The file system has no room left.
class DiskFullError : public RunFolderError {
  using RunFolderError::RunFolderError;
};

/// The target exists and may not be replaced.
class RunFolderExistsError : public RunFolderError {
  using RunFolderError::RunFolderError;
};

/// Throws "cannot WHAT PATH: ..." of an errno: DiskFullError where that says so, else
/// RunFolderError.
[[noreturn]] void throw_folder_error(std::string_view what, const std::filesystem::path& path,
                                     int error);

/// Throws RunFolderExistsError unless a run may be written to `target`: it does not exist, or is
/// empty, or `force` is set and it is a run's folder. Nothing else is ever replaced. Throws
/// RunFolderError when no folder can be made there.
void check_target(const std::filesystem::path& target, bool force);

/// Files go into a hidden folder beside the target, which takes the target's name in one step at
/// commit(). A run that is killed leaves at most that hidden folder, `.NAME.partial-…`, never a
/// target that looks whole or a mix of two runs; the next run to the same target removes it.
class RunFolder {
 public:
  /// Throws as check_target() does, and RunFolderError when the hidden folder cannot be made.
  RunFolder(const std::filesystem::path& target, bool force,
            Abandoned abandoned = Abandoned::kRemove);
  /// Without commit(): removes what was written.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Where files may be put until commit().
  const std::filesystem::path& folder() const { return partial_->path(); }
  void write(const std::string& name, std::string_view text);
  /// Flushes all files to the disk, then gives the folder its name; an older run there is swapped
  /// out in the same step and removed.
  void commit();

 private:
  std::filesystem::path target_;
  std::optional<PartialFolder> partial_;  ///< Made once the target is known to be free.
  bool force_;
  bool committed_ = false;
};

}  // namespace syncopate::experiments
