#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lockstep/models/data/byte_pair_tables.h>

namespace lockstep::detail {

/// Learned tokens and the merges that form them. The tokens are in GPT-2's characters (byte_characters.h), the merges
/// in order of rank.
struct LearnedTokens {
  std::vector<std::string> tokens;
  std::vector<TokenPair> merges;
};

/// Learns at most vocab_size tokens by the rules of BytePairVocabulary::train. `words` maps each word of the texts to
/// its number of occurrences. Precondition: vocab_size >= 256.
LearnedTokens learn_tokens(const std::unordered_map<std::string_view, std::int64_t>& words, std::int64_t vocab_size,
                           std::int64_t min_frequency);

}  // namespace lockstep::detail
