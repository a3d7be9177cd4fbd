#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// In GPT-2's vocabulary files, each byte of a token is one character, which bytes_to_unicode assigns to it: printable
// bytes of Latin-1 stand for themselves; the other 68 bytes, including the space, become U+0100 to U+0143, in
// increasing order.

namespace lockstep {

/// Number of values of a byte.
inline constexpr std::int32_t byte_values = 256;

/// The byte whose character has the index `place` when the 256 characters are sorted by code point. Precondition: 0 <=
/// place < 256.
std::uint8_t byte_at_place(std::int32_t place);
/// The characters of bytes, as UTF-8.
std::string characters_of_bytes(std::string_view bytes);
/// The bytes that the characters stand for; nullopt if a character stands for no byte.
std::optional<std::string> bytes_of_characters(std::string_view characters);

}  // namespace lockstep
