#include "lockstep/models/data/character_vocabulary.h"

#include <algorithm>
#include <span>
#include <utility>

#include <lockstep/models/data/text_file.h>
#include <lockstep/models/data/token_ids.h>
#include <lockstep/models/data/utf8.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

constexpr std::int64_t first_id = CharacterVocabulary::unknown + 1;
constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

/// Characters with special meaning in a vocabulary's file, and their spellings there.
constexpr std::pair<std::string_view, std::string_view> escapes[] = {{"\n", "\\n"}, {"\r", "\\r"}, {"\\", "\\\\"}};

/// Calls visit(code point, its UTF-8) for all characters of a text.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<CodePoint> character = first_code_point(text.substr(at));
    require<InputError>(character.has_value(), "byte {} is not UTF-8: 0x{:02x}", at,
                        static_cast<unsigned char>(text[at]));
    visit(character->value, text.substr(at, character->bytes));
    at += character->bytes;
  }
}

/// The character that a line of a vocabulary's file stands for.
std::string_view character_of_line(std::string_view line) {
  for (const auto& [character, spelling] : escapes)
    if (line == spelling) return character;
  require<InputError>(!line.empty(), "is empty, a line must have one character");
  const std::optional<CodePoint> character = first_code_point(line);
  require<InputError>(character.has_value(), "is not UTF-8");
  require<InputError>(line != "\\", "a backslash must be written \\\\");
  require<InputError>(character->bytes == line.size(), "{:?} is not one character", line);
  return line;
}

}  // namespace

CharacterVocabulary::CharacterVocabulary(std::vector<std::string> characters) : characters_(std::move(characters)) {
  for (const std::string& character : characters_)
    ids_.emplace(first_code_point(character)->value, first_id + static_cast<std::int64_t>(ids_.size()));
}

CharacterVocabulary CharacterVocabulary::adapt(const std::vector<std::string>& texts,
                                               std::optional<std::int64_t> max_tokens) {
  require(max_tokens.value_or(first_id) >= first_id, "max_tokens must be at least {}, got {}", first_id,
          max_tokens.value_or(0));
  struct Count {
    std::int64_t count = 0;
    std::string character{};
  };
  std::unordered_map<char32_t, Count> counts;
  for (std::size_t i = 0; i < texts.size(); ++i) try {
      for_each_character(texts[i], [&](char32_t value, std::string_view character) {
        Count& found = counts[value];
        if (found.count++ == 0) found.character = character;
      });
    } catch (Error& error) {
      error.add_context(fmt::format("text {}", i));
      throw;
    }
  std::vector<Count> sorted;
  for (auto& [value, count] : counts) sorted.push_back(std::move(count));
  // UTF-8 sorts bytes in the order of the code points.
  std::ranges::sort(sorted, [](const Count& a, const Count& b) {
    return std::tie(a.count, a.character) > std::tie(b.count, b.character);
  });
  if (max_tokens) sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(*max_tokens - first_id)));
  std::vector<std::string> characters;
  for (Count& count : sorted) characters.push_back(std::move(count.character));
  return CharacterVocabulary(std::move(characters));
}

CharacterVocabulary CharacterVocabulary::load(const std::filesystem::path& file) {
  std::vector<std::string> characters;
  std::unordered_map<std::string_view, std::int64_t> lines;
  const std::string text = read_text(file);
  for_each_line(text, file, [&](std::string_view line, std::int64_t number) {
    const std::string_view character = character_of_line(line);
    const auto [earlier, is_new] = lines.emplace(character, number);
    require<InputError>(is_new, "{:?} is also in line {}", line, earlier->second);
    characters.emplace_back(character);
  });
  return CharacterVocabulary(std::move(characters));
}

void CharacterVocabulary::save(const std::filesystem::path& file) const {
  std::string text;
  for (const std::string& character : characters_) {
    const auto* const escape = std::ranges::find(escapes, character, [](const auto& one) { return one.first; });
    text += escape == std::end(escapes) ? std::string_view(character) : escape->second;
    text += '\n';
  }
  write_file_atomically(file.string(), std::as_bytes(std::span(text)));
}

Tensor CharacterVocabulary::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  for_each_character(text, [&](char32_t value, std::string_view) {
    const auto found = ids_.find(value);
    ids.push_back(found == ids_.end() ? unknown : found->second);
  });
  return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())});
}

std::string CharacterVocabulary::decode(const Tensor& ids) const {
  std::string text;
  for (const std::int64_t id : token_ids(ids, size()))
    if (id == unknown)
      text += replacement_character;
    else if (id != padding)
      text += characters_[static_cast<std::size_t>(id - first_id)];
  return text;
}

}  // namespace lockstep
