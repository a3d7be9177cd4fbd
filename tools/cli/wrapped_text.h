#pragma once

#include <cstddef>
#include <string>

namespace lockstep::cli {

/// Columns to print to: $COLUMNS, else the width of the terminal at standard output, else 80.
std::size_t output_columns();

/// Breaks `text` between words so that it fits output_columns(), where the first line starts at column `indent`. All
/// other lines begin with `indent` spaces. Line breaks in `text` are kept.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace lockstep::cli
