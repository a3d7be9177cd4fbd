#pragma once

#include <string_view>

namespace lockstep {

/// Logs the warning "`shim` exists for compatibility; new programs should `better`", once per process for each `shim`.
/// `better` is e.g. "call fit".
void use_instead(std::string_view shim, std::string_view better);

}  // namespace lockstep
