#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// A suggestion for a misspelled or abbreviated name, e.g. "; did you mean adam?", with `prefix` before the name.
/// Suggests a name of which `given` is a part or the initials, otherwise the name that is nearest to `given` and at
/// most two edits away. Empty if there is no such name.
std::string suggestion(const std::string& given, const std::vector<std::string>& names, const std::string& prefix = "");

}  // namespace lockstep::cli
