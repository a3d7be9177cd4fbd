#pragma once

#include <string_view>

namespace lockstep {

/// The first word of a text by GPT-2's rule. The rule splits a text into words; bytes of different words are never
/// merged. The first word is the match of this regular expression at the beginning of the text, with alternatives tried
/// in order:
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
/// Bytes that are not UTF-8 are neither letters, nor numbers, nor spaces. Precondition: the text is not empty.
std::string_view first_word(std::string_view text);

}  // namespace lockstep
