#pragma once

#include <string_view>

namespace lockstep {

/// Warns once per program that there is a better alternative to `shim`.
void use_instead(std::string_view shim, std::string_view better);

}  // namespace lockstep
