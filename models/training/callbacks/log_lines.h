#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// Cuts a text file before the last lines, for as long as `superseded` says so of them, and before a line that has no
/// end: what a killed run wrote after its last backup, and a run that resumes writes again. Does nothing where there is
/// no regular file. Throws InputError naming the file when it cannot be cut.
void drop_last_lines(const std::string& path, const std::function<bool(std::string_view line)>& superseded);

}  // namespace lockstep
