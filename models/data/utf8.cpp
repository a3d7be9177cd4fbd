#include "lockstep/models/data/utf8.h"

#include <algorithm>

#include <utf8proc.h>

namespace lockstep {

std::optional<CodePoint> first_code_point(std::string_view text) {
  constexpr std::size_t most_bytes = 4;
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(std::min(text.size(), most_bytes)), &value);
  if (bytes <= 0) return std::nullopt;
  return CodePoint{static_cast<char32_t>(value), static_cast<std::size_t>(bytes)};
}

}  // namespace lockstep
