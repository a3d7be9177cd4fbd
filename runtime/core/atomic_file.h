#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// Creates or replaces the file `path` with contents `bytes`, atomically: writes a new file in the same folder, syncs
/// it to disk and renames it to `path`. On failure an existing file is unchanged. A symbolic link to a file is
/// followed; a dangling link is replaced. Throws an InputError that contains path and reason, for example if `path`
/// exists and is not a regular file or is write-protected.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

/// Whether `path` has the name of a temporary file of write_file_atomically. Such a file remains if its writer is
/// killed.
bool is_unfinished_file(const std::filesystem::path& path);

}  // namespace lockstep
