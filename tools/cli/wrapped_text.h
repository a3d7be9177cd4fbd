#pragma once

#include <cstddef>
#include <string>

namespace lockstep::cli {

/// What $COLUMNS says, else the width of the terminal that standard output goes to, else 80.
std::size_t output_columns();

/// `text` with line breaks between words, so that lines whose first column is `indent` fit output_columns(). All lines
/// but the first begin with `indent` spaces. Line breaks in `text` are kept.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace lockstep::cli
