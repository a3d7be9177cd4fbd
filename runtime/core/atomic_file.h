#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// Replaces the contents of a file atomically: writes a new file in the same folder, which `commit` syncs to disk and
/// renames. On failure and without a commit, an existing file is unchanged and the new one is deleted. If the path is a
/// symbolic link to a file, replaces that file; a dangling link is replaced itself. The functions throw InputError that
/// names path and reason, for example if the path exists and is not a regular file or is write-protected.
class AtomicFile {
 public:
  /// Creates the new file.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends to the new file.
  void write(std::span<const std::byte> bytes);
  /// Replaces the old file. Nothing can be written afterwards.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// Replaces the contents of the file `path` by `bytes`; see AtomicFile.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

/// Creates the folder of the file `path` if there is none. Throws InputError naming the path.
void make_folder_of(const std::string& path);

/// Removes the new files of AtomicFiles that killed writers left behind in `folder`. Precondition: no writer is
/// running.
void remove_unfinished_files(const std::filesystem::path& folder);

}  // namespace lockstep
