#include "lockstep/models/data/byte_characters.h"

#include <algorithm>
#include <array>

#include <lockstep/models/data/utf8.h>

namespace lockstep {
namespace {

constexpr bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

constexpr std::uint16_t first_other = 0x100;

constexpr std::array<std::uint16_t, byte_values> code_points = [] {
  std::array<std::uint16_t, byte_values> result{};
  std::uint16_t other = first_other;
  for (int byte = 0; byte < byte_values; ++byte)
    result[static_cast<std::size_t>(byte)] = is_printable(byte) ? static_cast<std::uint16_t>(byte) : other++;
  return result;
}();

constexpr std::array<std::uint8_t, byte_values> bytes_in_order = [] {
  std::array<std::uint8_t, byte_values> result{};
  for (int byte = 0; byte < byte_values; ++byte)
    result[static_cast<std::size_t>(byte)] = static_cast<std::uint8_t>(byte);
  std::ranges::sort(result, {}, [](std::uint8_t byte) { return code_points[byte]; });
  return result;
}();

}  // namespace

std::uint8_t byte_at_place(std::int32_t place) { return bytes_in_order[static_cast<std::size_t>(place)]; }

std::string characters_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const std::uint16_t value = code_points[static_cast<std::uint8_t>(byte)];
    if (value < 0x80) {
      text += static_cast<char>(value);
    } else {
      text += static_cast<char>(0xc0 | value >> 6);
      text += static_cast<char>(0x80 | (value & 0x3f));
    }
  }
  return text;
}

std::optional<std::string> bytes_of_characters(std::string_view characters) {
  std::string bytes;
  while (!characters.empty()) {
    const std::optional<CodePoint> character = first_code_point(characters);
    if (!character) return std::nullopt;
    const auto* const place = std::ranges::lower_bound(bytes_in_order, character->value, {},
                                                       [](std::uint8_t byte) { return char32_t{code_points[byte]}; });
    if (place == bytes_in_order.end() || code_points[*place] != character->value) return std::nullopt;
    bytes += static_cast<char>(*place);
    characters.remove_prefix(character->bytes);
  }
  return bytes;
}

}  // namespace lockstep
