#pragma once

#include <filesystem>

namespace lockstep {

/// Throws InputError, naming the file, if it is missing or not a regular file.
void require_regular_file(const std::filesystem::path& file);

}  // namespace lockstep
