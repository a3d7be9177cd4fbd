#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace lockstep {

/// A Unicode code point and the number of bytes that encode it in UTF-8.
struct CodePoint {
  char32_t value;     ///< in UTF-32
  std::size_t bytes;  ///< 1 to 4
};

/// The first code point of a text; nullopt if the text is empty or does not start with a valid UTF-8 sequence.
std::optional<CodePoint> first_code_point(std::string_view text);

}  // namespace lockstep
