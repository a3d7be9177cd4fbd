#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace lockstep {

/// The number that the whole text is, in the form of std::from_chars; empty for other text and for a number that
/// `Number` cannot hold.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace lockstep
