#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <lockstep/models/data/byte_characters.h>

namespace lockstep::detail {

/// Two adjacent tokens.
struct TokenPair {
  std::int32_t left;
  std::int32_t right;

  friend auto operator<=>(const TokenPair&, const TokenPair&) = default;
};

struct HashOfPair {
  std::size_t operator()(const TokenPair& pair) const {
    const auto key = static_cast<std::uint64_t>(pair.left) << 32 | static_cast<std::uint32_t>(pair.right);
    return static_cast<std::size_t>((key ^ key >> 29) * 0x9e3779b97f4a7c15);
  }
};

/// The merge of a pair of tokens into one token.
struct TokenMerge {
  std::int32_t rank;    ///< index in BytePairTables::merges(); merges of lower rank are applied first
  std::int32_t result;  ///< id of the merged token
};

/// The tokens and merges of a BytePairVocabulary.
class BytePairTables {
 public:
  /// `tokens[i]` is token i in GPT-2's characters (byte_characters.h); `merges[i]` is the merge of rank i.
  /// Preconditions: tokens are distinct, every single byte is a token, merges are distinct, and the concatenation of
  /// the two tokens of a merge is a token.
  BytePairTables(std::vector<std::string> tokens, std::vector<TokenPair> merges);

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<TokenPair>& merges() const { return merges_; }
  /// The id of a token in GPT-2's characters; empty if it is not a token.
  std::optional<std::int32_t> id_of(const std::string& token) const;
  /// The id of a byte's token.
  std::int32_t id_of_byte(std::uint8_t byte) const { return byte_ids_[byte]; }
  /// The merge of a pair; null if there is none.
  const TokenMerge* merge_of(const TokenPair& pair) const;
  /// The bytes that a token stands for. If the token contains a character that stands for no byte, as special tokens
  /// may, returns the token's text in UTF-8. Precondition: 0 <= id < number of tokens.
  const std::string& bytes_of(std::int64_t id) const { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<std::string> tokens_;
  std::vector<std::string> bytes_;
  std::vector<TokenPair> merges_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::array<std::int32_t, byte_values> byte_ids_{};
  std::unordered_map<TokenPair, TokenMerge, HashOfPair> results_;
};

}  // namespace lockstep::detail
