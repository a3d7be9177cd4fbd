#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// "; did you mean adam?": the one of `names` that `given` abbreviates or differs from in few letters, with `prefix`
/// before it; empty when none comes near.
std::string suggestion(const std::string& given, const std::vector<std::string>& names, const std::string& prefix = "");

}  // namespace lockstep::cli
