#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// The name that may have been meant by `given`, which is an abbreviation of it or has few letters that differ; empty
/// when none comes near.
std::string nearest_name(const std::string& given, const std::vector<std::string>& names);

}  // namespace lockstep::cli
