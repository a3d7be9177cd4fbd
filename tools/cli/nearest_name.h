#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// Suggests a name, e.g. "; did you mean adam?": the one in `names` that `given` abbreviates or differs from in few
/// letters, preceded by `prefix`. Empty when no name is close.
std::string suggestion(const std::string& given, const std::vector<std::string>& names, const std::string& prefix = "");

}  // namespace lockstep::cli
