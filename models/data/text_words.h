#pragma once

#include <string_view>

namespace lockstep {

/// The first word of a text by GPT-2's rule, which splits a text into pieces whose bytes are never merged with those of
/// others: the match of this regular expression at the beginning of the text, of whose alternatives the first one that
/// matches counts.
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
/// Bytes that are not UTF-8 are neither letters, nor numbers, nor spaces. Precondition: the text is not empty.
std::string_view first_word(std::string_view text);

}  // namespace lockstep
