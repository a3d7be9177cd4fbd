#pragma once

#include <string_view>

namespace lockstep {

/// Logs a warning, once per process for each `shim`, that new programs should do `better`, such as "call fit", instead.
void use_instead(std::string_view shim, std::string_view better);

}  // namespace lockstep
