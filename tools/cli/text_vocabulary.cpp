#include "text_vocabulary.h"

#include <filesystem>
#include <utility>

#include <lockstep/models/data/byte_characters.h>
#include <lockstep/models/data/text_file.h>
#include <lockstep/models/serialization/file_formats.h>

namespace lockstep::cli {
namespace {

constexpr std::string_view tokens_ending = "vocab.json";
constexpr std::string_view merges_ending = "merges.txt";

/// The files of a vocabulary beside a model's.
struct VocabularyFiles {
  explicit VocabularyFiles(const std::string& model_file) {
    const WeightsFormat* const weights = weights_format_of(model_file);
    const std::string name = weights != nullptr ? model_file.substr(0, model_file.size() - weights->extension.size())
                                                : std::filesystem::path(model_file).replace_extension().string();
    characters = name + ".vocabulary.txt";
    tokens = fmt::format("{}.{}", name, tokens_ending);
    merges = fmt::format("{}.{}", name, merges_ending);
  }

  std::string characters, tokens, merges;
};

/// Checks that a text is UTF-8.
void check_characters(const std::string& text, const std::string& file) {
  const CharacterVocabulary none = CharacterVocabulary::adapt({});
  for_each_line(text, file, [&](std::string_view line, std::int64_t) { (void)none.encode(line); });
}

}  // namespace

TextVocabulary TextVocabulary::learn(const std::string& kind, const std::string& text, const std::string& file,
                                     std::int64_t size) {
  if (kind == byte_pairs) return TextVocabulary(BytePairVocabulary::train({text}, {.vocab_size = size}));
  check_characters(text, file);
  return TextVocabulary(CharacterVocabulary::adapt({text}, size));
}

TextVocabulary TextVocabulary::load(const std::string& file) {
  if (file.ends_with(tokens_ending)) {
    const std::string name = file.substr(0, file.size() - tokens_ending.size());
    return TextVocabulary(BytePairVocabulary::load(file, name + std::string(merges_ending)));
  }
  require(file.ends_with(".txt") && !file.ends_with(merges_ending),
          "--vocabulary {}: must be {}, {}, a .txt file of characters, or a vocab.json file with merges.txt beside it",
          file, characters, byte_pairs);
  return TextVocabulary(CharacterVocabulary::load(file));
}

std::optional<TextVocabulary> TextVocabulary::beside(const std::string& model_file) {
  const VocabularyFiles files(model_file);
  const bool has_characters = std::filesystem::exists(files.characters);
  const bool has_tokens = std::filesystem::exists(files.tokens);
  require<InputError>(!has_characters || !has_tokens, "{} and {} both exist; choose one with --vocabulary",
                      files.characters, files.tokens);
  if (has_characters || has_tokens) return load(has_tokens ? files.tokens : files.characters);
  return std::nullopt;
}

std::string TextVocabulary::save_beside(const std::string& model_file) const {
  const VocabularyFiles files(model_file);
  if (const auto* const of_characters = std::get_if<CharacterVocabulary>(&vocabulary_)) {
    of_characters->save(files.characters);
    return files.characters;
  }
  std::get<BytePairVocabulary>(vocabulary_).save(files.tokens, files.merges);
  return files.tokens + " and " + files.merges;
}

Tensor TextVocabulary::encode(const std::string& text, const std::string& file) const {
  if (std::holds_alternative<CharacterVocabulary>(vocabulary_)) check_characters(text, file);
  return std::visit([&](const auto& vocabulary) { return vocabulary.encode(text); }, vocabulary_);
}

std::int64_t TextVocabulary::size() const {
  return std::visit([](const auto& vocabulary) { return vocabulary.size(); }, vocabulary_);
}

std::vector<std::string> TextVocabulary::names() const {
  const bool bytes = std::holds_alternative<BytePairVocabulary>(vocabulary_);
  std::vector<std::string> names;
  for (std::int64_t id = 0; id < size(); ++id) {
    const Tensor ids = Tensor::from(std::vector{id}, {1});
    const std::string text = std::visit([&](const auto& vocabulary) { return vocabulary.decode(ids); }, vocabulary_);
    names.push_back(bytes ? characters_of_bytes(text) : text);
  }
  return names;
}

std::string TextVocabulary::description() const {
  const bool bytes = std::holds_alternative<BytePairVocabulary>(vocabulary_);
  return fmt::format("{} {}", size(), bytes ? "byte pairs" : "characters");
}

}  // namespace lockstep::cli
