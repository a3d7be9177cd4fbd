#pragma once

#include <string_view>

namespace lockstep {

/// The first word of a text by GPT-2's rule, which splits texts into words across whose borders no bytes are merged. It
/// is the match, at the beginning of the text, of the first alternative of this regular expression that matches there:
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
/// Bytes that are not UTF-8 are neither letters, nor numbers, nor spaces. Precondition: the text is not empty.
std::string_view first_word(std::string_view text);

}  // namespace lockstep
