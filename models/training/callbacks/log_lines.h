#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// Removes lines from the end of a text file: an incomplete last line, and then each last line for which
/// superseded(line) is true. A run that was killed wrote these lines after its last backup, and the resumed run writes
/// them again. Does nothing unless `path` is a regular file. Throws InputError naming the file when it cannot be
/// truncated.
void drop_last_lines(const std::string& path, const std::function<bool(std::string_view line)>& superseded);

}  // namespace lockstep
