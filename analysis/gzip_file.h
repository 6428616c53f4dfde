// A gzip file that is written from front to back.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <string_view>

namespace syncopate::analysis {

/// Compresses what it is given on its way to the file; holds zlib's fixed buffers and no more. The
/// same bytes in give the same bytes out. Not thread-safe.
class GzipFile {
 public:
  /// Replaces `file`. Throws FileError.
  explicit GzipFile(std::filesystem::path file);

  /// Throws FileError, at the latest in close().
  void write(std::string_view text);
  /// Ends the file, after which nothing can be written. Throws FileError when not all of it could
  /// be: without close() an error at the end would go unseen.
  void close();

 private:
  struct Closer {
    void operator()(gzFile file) const { ::gzclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Closer> file_;
};

}  // namespace syncopate::analysis
