#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

/// Makes `bytes` the contents of the file `path`, whole or not at all: they go to a new file in the same folder, reach
/// the disk, and then take the name; on failure an old file is as it was. A symbolic link is followed.
/// Throws InputError naming path and reason.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace lockstep
