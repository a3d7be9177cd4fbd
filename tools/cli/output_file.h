#pragma once

#include <string>

namespace lockstep::cli {

/// Throws InputError unless a file can be written at `path`: its folder exists and is writable, and `path` is not a
/// folder. Writes nothing. Called for every output before work starts.
void require_writable(const std::string& path, const std::string& option);

}  // namespace lockstep::cli
