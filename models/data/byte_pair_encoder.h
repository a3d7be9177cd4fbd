#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <lockstep/models/data/byte_pair_tables.h>

namespace lockstep::detail {

/// Encodes words, reusing its memory from one word to the next. Not thread-safe.
class BytePairEncoder {
 public:
  /// The tables must outlive this.
  explicit BytePairEncoder(const BytePairTables& tables) : tables_(tables) {}

  /// Appends the ids of a word's tokens. Starts with the tokens of its bytes and repeatedly applies the possible merge
  /// of the lowest rank, at its leftmost position, until no merge is possible. Takes n log n time for n bytes.
  void encode(std::string_view word, std::vector<std::int64_t>& ids);

 private:
  /// A token of the word, in a linked list.
  struct Symbol {
    std::int32_t id;       ///< -1 after the symbol was merged into the previous one
    std::size_t previous;  ///< index of the previous symbol; beyond the end for the first symbol
    std::size_t next;      ///< index of the next symbol; the number of symbols for the last symbol
  };
  /// A merge that was possible when it was added; a later merge of one of its symbols makes it obsolete.
  struct Candidate {
    std::int32_t rank;
    std::size_t position;  ///< the index of the left symbol

    friend auto operator<=>(const Candidate&, const Candidate&) = default;
  };

  const TokenMerge* merge_at(std::size_t position) const;
  void add_candidate(std::size_t position);
  void apply(const TokenMerge& merge, std::size_t position);

  const BytePairTables& tables_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;  ///< a heap; the candidate to apply next is first
};

}  // namespace lockstep::detail
