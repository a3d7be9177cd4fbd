#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

namespace detail {
class BytePairTables;
}  // namespace detail

/// BytePairVocabulary::train's options, under the names of BpeTrainer in Hugging Face's tokenizers.
struct BytePairOptions {
  std::int64_t vocab_size = 30000;  ///< maximum number of tokens, including the 256 single bytes
  std::int64_t min_frequency = 0;   ///< minimum number of occurrences of a pair that becomes a token
};

/// GPT-2's byte-level byte pair encoding. An id stands for a token, which is a string of bytes: a single byte, or two
/// tokens that were a frequent pair in a text. GPT-2's rule splits a text into words, numbers, punctuation and spaces;
/// tokens do not cross the boundaries between these. Any bytes, valid UTF-8 or not, can be encoded, and their ids
/// decode to the same bytes. Gives the same ids as Hugging Face's ByteLevelBPETokenizer with add_prefix_space=False,
/// except that it does not find special tokens, such as "<|endoftext|>", in texts; token_to_id gives their ids. Cheap
/// to copy.
class BytePairVocabulary {
 public:
  /// Learns tokens: repeatedly merges the most frequent pair of adjacent tokens within the words of the texts. Of
  /// equally frequent pairs, it merges the one with the smallest ids, compared as (left, right). Stops at vocab_size
  /// tokens, or when no pair occurs min_frequency times. Tokens 0 to 255 are the single bytes, in the order of the
  /// characters that GPT-2's bytes_to_unicode assigns to them. Throws InvalidArgument for a vocab_size below 256.
  static BytePairVocabulary train(const std::vector<std::string>& texts, const BytePairOptions& options = {});
  /// Reads the vocab.json and merges.txt files of GPT-2 and of Hugging Face's tokenizers, which may be compressed by
  /// gzip. Throws InputError, which names the file and the token or line, if a file is missing or damaged, the ids are
  /// not 0 to n - 1, or a byte has no token. Also throws it for a merge that occurs twice, and for a merge with a part
  /// or a result that is not a token.
  static BytePairVocabulary load(const std::filesystem::path& vocab, const std::filesystem::path& merges);
  /// Writes the files that `load` reads. Throws InputError when a file cannot be written.
  void save(const std::filesystem::path& vocab, const std::filesystem::path& merges) const;

  /// Number of tokens.
  std::int64_t size() const;
  /// The ids of a text's tokens, (n) i64.
  Tensor encode(std::string_view text) const;
  /// The bytes of the tokens with these ids, (n) i32 or i64. Throws InvalidArgument if `ids` has another shape or
  /// dtype, or contains an id that is not in the vocabulary.
  std::string decode(const Tensor& ids) const;
  /// The id of a token as vocab.json writes it, i.e. in the characters of GPT-2's bytes_to_unicode, such as U+0120 for
  /// a space; empty if it is not a token.
  std::optional<std::int64_t> token_to_id(const std::string& token) const;

 private:
  explicit BytePairVocabulary(std::shared_ptr<const detail::BytePairTables> tables) : tables_(std::move(tables)) {}

  Handle<const detail::BytePairTables, "vocabulary"> tables_;
};

}  // namespace lockstep
