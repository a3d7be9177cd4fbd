#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <lockstep/models/data/byte_pair_vocabulary.h>
#include <lockstep/models/data/character_vocabulary.h>

namespace lockstep::cli {

/// The vocabulary of a text, and its files beside a trained model: for trained.keras, trained.vocabulary.txt with the
/// characters, or trained.vocab.json and trained.merges.txt with the byte pairs.
class TextVocabulary {
 public:
  static constexpr const char* characters = "characters";
  static constexpr const char* byte_pairs = "byte-pairs";

  /// Learns a vocabulary with at most `size` ids. `kind` is `characters` or `byte_pairs`. For `characters`, throws
  /// InputError if the text is not UTF-8, naming `file` and the line. Throws InvalidArgument for a size that is too
  /// small.
  static TextVocabulary learn(const std::string& kind, const std::string& text, const std::string& file,
                              std::int64_t size);
  /// Reads a .txt file of characters, or a file NAMEvocab.json and NAMEmerges.txt beside it. Throws InvalidArgument for
  /// other names, InputError for missing and damaged files.
  static TextVocabulary load(const std::string& file);
  /// The vocabulary that `save_beside` wrote; nullopt if there are no such files. Throws InputError for damaged files,
  /// and if there are files of both kinds.
  static std::optional<TextVocabulary> beside(const std::string& model_file);
  /// Writes the vocabulary beside the file of a model or of weights; returns the names of its files.
  std::string save_beside(const std::string& model_file) const;

  /// The ids of a text, (n) i64. With a vocabulary of characters, throws InputError if the text is not UTF-8, naming
  /// `file` and the line.
  Tensor encode(const std::string& text, const std::string& file) const;
  std::int64_t size() const;
  /// The character or token of each id: a token as in vocab.json, an empty text for padding, U+FFFD for unknown
  /// characters.
  std::vector<std::string> names() const;
  /// E.g. "65 characters".
  std::string description() const;

 private:
  using Vocabulary = std::variant<CharacterVocabulary, BytePairVocabulary>;
  explicit TextVocabulary(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  Vocabulary vocabulary_;
};

}  // namespace lockstep::cli
