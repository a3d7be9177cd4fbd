#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// Removes lines from the end of a text file: an incomplete last line and then, from the end backwards, complete lines
/// until it finds one for which superseded(line) is false. `line` has no line feed. For runs that resume from a backup:
/// superseded lines were written after the backup, and the resumed run writes them again. Does nothing if `path` is not
/// a regular file or cannot be read. Throws InputError, which names the file, if it cannot be truncated.
void drop_last_lines(const std::string& path, const std::function<bool(std::string_view line)>& superseded);

}  // namespace lockstep
