#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// Makes `bytes` the contents of the file `path`, whole or not at all: they go to a new file in the same folder, reach
/// the disk, and then take the name; on failure an old file is as it was. A symbolic link is followed.
/// Throws InputError naming path and reason.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

/// Whether a file's name is of those that write_file_atomically gives new files before they take their own: with no
/// writer at work, what one that was killed has left.
bool is_unfinished_file(const std::filesystem::path& path);

}  // namespace lockstep
