#pragma once

#include <string>

namespace lockstep::cli {

/// Throws InputError unless a file at `path` could be written: its folder exists and is writable, and it is no folder.
/// Writes nothing. Called for every output before work starts.
void require_writable(const std::string& path, const std::string& option);

}  // namespace lockstep::cli
