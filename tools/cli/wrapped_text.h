#pragma once

#include <cstddef>
#include <string>

namespace lockstep::cli {

/// Number of columns to print to: $COLUMNS, otherwise the width of the terminal at standard output, otherwise 80. At
/// least 40.
std::size_t output_columns();

/// Breaks `text` between words to fit output_columns(). The first line is assumed to start at column `indent`; all
/// other lines begin with `indent` spaces. Line breaks in `text` are kept.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace lockstep::cli
