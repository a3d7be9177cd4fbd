#pragma once

#include <string_view>

namespace lockstep {

/// A warning that there is something better than `shim`, the first time in the program that it is called for it.
void use_instead(std::string_view shim, std::string_view better);

}  // namespace lockstep
