#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// Replaces the contents of a file atomically: writes a new file in the same folder, which `commit` syncs to disk and
/// renames. On failure and without a commit, an existing file is unchanged and the new one is deleted. If the path is a
/// symbolic link to a file, replaces the file that it refers to; replaces the link if that file does not exist. The
/// constructor, `write` and `commit` throw InputError with the path and the reason, for example if the path exists and
/// is not a regular file or is write-protected.
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

/// Creates the folder of the file `path` and its parents unless they exist. Throws InputError naming the path if this
/// fails.
void make_folder_of(const std::string& path);

/// Deletes the temporary files that AtomicFile left in `folder` when its process was killed. Keeps those of other
/// processes that are running on this machine and in this PID namespace. Ignores errors. Precondition: neither this
/// process nor one of another machine or PID namespace (container) is writing an AtomicFile in `folder`.
void remove_unfinished_files(const std::filesystem::path& folder);

}  // namespace lockstep
