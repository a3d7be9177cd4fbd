#include "lockstep/models/data/text_words.h"

#include <utf8proc.h>

#include <lockstep/models/data/utf8.h>

namespace lockstep {
namespace {

enum class CharacterClass { letter, number, space, other };

/// The class of a text's first character and the number of its bytes.
struct Character {
  CharacterClass kind;
  std::size_t bytes;
};

CharacterClass class_of(char32_t character) {
  if ((character >= '\t' && character <= '\r') || character == 0x85) return CharacterClass::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterClass::number;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharacterClass::space;
    default:
      return CharacterClass::other;
  }
}

Character first_character(std::string_view text) {
  const std::optional<CodePoint> point = first_code_point(text);
  return point ? Character{class_of(point->value), point->bytes} : Character{CharacterClass::other, 1};
}

/// The leading spaces that form a word: at the end of the text all of them, before other characters all but the last
/// one, and at least one.
std::string_view leading_spaces(std::string_view text) {
  std::size_t end = 0;
  std::size_t last = 0;  // begin of the last space
  while (end < text.size()) {
    const Character next = first_character(text.substr(end));
    if (next.kind != CharacterClass::space) return text.substr(0, last > 0 ? last : end);
    last = end;
    end += next.bytes;
  }
  return text;
}

}  // namespace

std::string_view first_word(std::string_view text) {
  for (const std::string_view suffix : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(suffix)) return text.substr(0, suffix.size());
  std::size_t end = text.size() > 1 && text[0] == ' ' ? 1 : 0;
  const CharacterClass kind = first_character(text.substr(end)).kind;
  if (kind == CharacterClass::space) return leading_spaces(text);
  while (end < text.size()) {
    const Character next = first_character(text.substr(end));
    if (next.kind != kind) break;
    end += next.bytes;
  }
  return text.substr(0, end);
}

}  // namespace lockstep
