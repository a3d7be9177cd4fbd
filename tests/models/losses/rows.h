#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::test {

/// Operands of a reference, row by row.
using Rows = std::vector<std::vector<double>>;

// The shape of most operands.
inline constexpr std::int64_t rows = 6;
inline constexpr std::int64_t width = 4;

}  // namespace lockstep::test
