#include "lockstep/models/data/byte_pair_tables.h"

#include <utility>

namespace lockstep::detail {

BytePairTables::BytePairTables(std::vector<std::string> tokens, std::vector<TokenPair> merges)
    : tokens_(std::move(tokens)), merges_(std::move(merges)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    ids_.emplace(tokens_[i], static_cast<std::int32_t>(i));
    bytes_.push_back(bytes_of_characters(tokens_[i]).value_or(tokens_[i]));
  }
  for (std::int32_t place = 0; place < byte_values; ++place) {
    const char byte = static_cast<char>(byte_at_place(place));
    byte_ids_[static_cast<std::uint8_t>(byte)] = ids_.at(characters_of_bytes({&byte, 1}));
  }
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const auto& [left, right] = merges_[i];
    const std::string result = tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)];
    results_.emplace(merges_[i], TokenMerge{static_cast<std::int32_t>(i), ids_.at(result)});
  }
}

std::optional<std::int32_t> BytePairTables::id_of(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const TokenMerge* BytePairTables::merge_of(const TokenPair& pair) const {
  const auto found = results_.find(pair);
  return found == results_.end() ? nullptr : &found->second;
}

}  // namespace lockstep::detail
