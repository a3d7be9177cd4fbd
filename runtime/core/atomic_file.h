#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// Replaces the contents of the file `path` by `bytes` atomically: writes a new file in the same folder, syncs it to
/// disk and renames it to `path`. On failure an existing file is unchanged. If `path` is a symbolic link to a file,
/// replaces that file; a dangling link is replaced itself. Throws InputError that names path and reason.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

/// Whether `path` is named like a temporary file of write_file_atomically. If no writer is running, a killed writer
/// left it behind.
bool is_unfinished_file(const std::filesystem::path& path);

}  // namespace lockstep
