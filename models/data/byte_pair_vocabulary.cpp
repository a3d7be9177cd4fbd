#include "lockstep/models/data/byte_pair_vocabulary.h"

#include <unordered_map>

#include <lockstep/models/data/byte_pair_encoder.h>
#include <lockstep/models/data/byte_pair_tables.h>
#include <lockstep/models/data/byte_pair_training.h>
#include <lockstep/models/data/text_words.h>
#include <lockstep/models/data/token_ids.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Calls visit(word) for all words of a text.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::string_view word = first_word(text);
    visit(word);
    text.remove_prefix(word.size());
  }
}

}  // namespace

BytePairVocabulary BytePairVocabulary::train(const std::vector<std::string>& texts, const BytePairOptions& options) {
  require(options.vocab_size >= byte_values, "vocab_size must be at least {}, one for each byte, got {}", byte_values,
          options.vocab_size);
  std::unordered_map<std::string_view, std::int64_t> words;
  for (const std::string& text : texts) for_each_word(text, [&](std::string_view word) { ++words[word]; });
  detail::LearnedTokens learned = detail::learn_tokens(words, options.vocab_size, options.min_frequency);
  return BytePairVocabulary(
      std::make_shared<detail::BytePairTables>(std::move(learned.tokens), std::move(learned.merges)));
}

std::int64_t BytePairVocabulary::size() const { return static_cast<std::int64_t>(tables_->tokens().size()); }

Tensor BytePairVocabulary::encode(std::string_view text) const {
  struct Range {
    std::size_t begin;
    std::size_t count;
  };
  detail::BytePairEncoder encoder(*tables_);
  std::vector<std::int64_t> ids;
  std::unordered_map<std::string_view, Range> known;  // for each word that has occurred before, its range of ids
  for_each_word(text, [&](std::string_view word) {
    const auto [place, is_new] = known.try_emplace(word, Range{ids.size(), 0});
    auto& [begin, count] = place->second;
    if (is_new) {
      encoder.encode(word, ids);
      count = ids.size() - begin;
    } else {
      for (std::size_t i = 0; i < count; ++i) ids.push_back(ids[begin + i]);
    }
  });
  return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())});
}

std::string BytePairVocabulary::decode(const Tensor& ids) const {
  std::string bytes;
  for (const std::int64_t id : token_ids(ids, size())) bytes += tables_->bytes_of(id);
  return bytes;
}

std::optional<std::int64_t> BytePairVocabulary::token_to_id(const std::string& token) const {
  return tables_->id_of(token);
}

}  // namespace lockstep
