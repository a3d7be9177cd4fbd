#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace lockstep {

/// A Unicode code point and the number of bytes that encode it in UTF-8.
struct CodePoint {
  char32_t value;     ///< the code point
  std::size_t bytes;  ///< 1 to 4
};

/// The first code point of a text. Empty for an empty text and for bytes that are not UTF-8.
std::optional<CodePoint> first_code_point(std::string_view text);

}  // namespace lockstep
