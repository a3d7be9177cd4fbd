#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// Replaces the contents of a file atomically: `write` fills a new file in the same folder; `commit` syncs the new file
/// to disk and renames it. On failure, or if `commit` is not called, an existing file stays unchanged and the new file
/// is deleted. If the path is a symbolic link, replaces the file to which the link refers, or the link itself if that
/// file does not exist. The constructor, `write` and `commit` throw InputError with the path and the reason, for
/// example if the path exists and is not a regular file or is write-protected.
class AtomicFile {
 public:
  /// Creates the new file.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends to the new file.
  void write(std::span<const std::byte> bytes);
  /// Replaces the old file, if any, and keeps its permissions. Nothing can be written afterwards.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// Replaces the contents of the file `path` by `bytes`; see AtomicFile.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

/// Creates the folder of the file `path` and the parents of that folder, if they do not exist. Throws InputError naming
/// the path if this fails.
void make_folder_of(const std::string& path);

/// Deletes the temporary files of AtomicFile that killed processes left in `folder`. Keeps the temporary files of other
/// processes that still run on this machine and in this PID namespace. Ignores errors. Precondition: no AtomicFile in
/// `folder` is being written by this process, on another machine or in another PID namespace (container).
void remove_unfinished_files(const std::filesystem::path& folder);

}  // namespace lockstep
