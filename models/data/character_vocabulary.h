#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Maps the characters (Unicode code points) of UTF-8 texts to ids, as Keras' TextVectorization does with
/// split="character" and standardize=None: 0 is padding, 1 stands for any character that is not in the vocabulary, and
/// the vocabulary's characters have the ids from 2 on.
class CharacterVocabulary {
 public:
  static constexpr std::int64_t padding = 0;  ///< id that stands for no character
  static constexpr std::int64_t unknown = 1;  ///< id of characters that are not in the vocabulary

  /// Makes a vocabulary of the texts' characters, in order of decreasing frequency and, where that is equal, of
  /// decreasing code point. If `max_tokens` is given, there are at most that many ids, including padding and unknown.
  /// Throws InputError for a text that is not UTF-8; the message has the index of the text and of its invalid byte,
  /// both from 0. Throws InvalidArgument for max_tokens below 2.
  static CharacterVocabulary adapt(const std::vector<std::string>& texts,
                                   std::optional<std::int64_t> max_tokens = std::nullopt);
  /// Reads a file written by save(), which may be compressed by gzip. Throws InputError, which names the file, if it
  /// cannot be read. If a line is not exactly one character or repeats an earlier line, the InputError also names the
  /// line.
  static CharacterVocabulary load(const std::filesystem::path& file);
  /// Writes a UTF-8 text file whose line i, from 1, has the character with id i + 1. A line feed, a carriage return and
  /// a backslash are written as `\n`, `\r` and `\\`. Throws InputError when the file cannot be written.
  void save(const std::filesystem::path& file) const;

  /// Number of ids, with padding and unknown.
  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()) + unknown + 1; }
  /// The ids of a text's characters, (n) i64. Throws InputError for a text that is not UTF-8, with the index of the
  /// invalid byte.
  Tensor encode(std::string_view text) const;
  /// The text of the characters with these ids, (n) i32 or i64. Padding is left out, and unknown characters become
  /// U+FFFD. Throws InvalidArgument if `ids` has another shape or dtype, or contains an id that is not in the
  /// vocabulary.
  std::string decode(const Tensor& ids) const;

 private:
  explicit CharacterVocabulary(std::vector<std::string> characters);

  std::vector<std::string> characters_;  ///< [i]: the character with id i + 2, as UTF-8
  std::unordered_map<char32_t, std::int64_t> ids_;
};

}  // namespace lockstep
