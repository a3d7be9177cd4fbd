#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// Suggests the name in `names` that `given` abbreviates or from which it differs by at most two edits, e.g. "; did you
/// mean adam?". `prefix` is put before the name. Empty if no name is close.
std::string suggestion(const std::string& given, const std::vector<std::string>& names, const std::string& prefix = "");

}  // namespace lockstep::cli
