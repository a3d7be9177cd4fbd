#include "lockstep/models/data/byte_pair_training.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_set>

namespace lockstep::detail {
namespace {

/// Keeps how often each pair of adjacent tokens occurs and in which words, so that a merge visits only words that may
/// contain its pair.
class PairCounts {
 public:
  explicit PairCounts(const std::unordered_map<std::string_view, std::int64_t>& words) {
    std::array<std::int32_t, byte_values> ids{};
    for (std::int32_t place = 0; place < byte_values; ++place) ids[byte_at_place(place)] = place;
    for (const auto& [text, count] : words) {
      Word word{{}, count};
      for (const char byte : text) word.tokens.push_back(ids[static_cast<std::uint8_t>(byte)]);
      for (std::size_t i = 1; i < word.tokens.size(); ++i)
        change({word.tokens[i - 1], word.tokens[i]}, count, words_.size());
      words_.push_back(std::move(word));
    }
    queue_increased();
  }

  /// A pair and how often it occurs; 0 times if no pair is left.
  struct Counted {
    std::int64_t count = 0;
    TokenPair pair{};

    /// Orders pairs in reverse of the order in which they are merged.
    friend bool operator<(const Counted& a, const Counted& b) {
      return a.count != b.count ? a.count < b.count : b.pair < a.pair;
    }
  };

  /// The pair to merge next.
  Counted most_frequent() {
    while (!queue_.empty()) {
      const Counted top = queue_.top();
      const auto found = pairs_.find(top.pair);
      const std::int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count == top.count) return top;
      queue_.pop();  // the count has changed since; if it increased, the pair has been queued again
      if (count > 0 && count < top.count) queue_.push({count, top.pair});
    }
    return {};
  }

  /// Replaces a pair by the token `result` in all words.
  void merge(const TokenPair& pair, std::int32_t result) {
    std::vector<std::size_t> words = std::move(pairs_.at(pair).words);
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (const std::size_t word : words) merge_in(word, pair, result);
    pairs_.erase(pair);
    queue_increased();
  }

 private:
  struct Word {
    std::vector<std::int32_t> tokens;
    std::int64_t count;
  };
  struct Occurrences {
    std::int64_t count = 0;
    std::vector<std::size_t> words{};  ///< all words that have the pair, and possibly others and repetitions
  };

  void change(const TokenPair& pair, std::int64_t by, std::size_t word) {
    Occurrences& found = pairs_[pair];
    found.count += by;
    if (by < 0) return;
    increased_.insert(pair);
    if (found.words.empty() || found.words.back() != word) found.words.push_back(word);
  }

  void merge_in(std::size_t index, const TokenPair& pair, std::int32_t result) {
    Word& word = words_[index];
    std::vector<std::int32_t>& tokens = word.tokens;
    std::size_t to = 0;  // number of tokens of the changed word so far
    for (std::size_t from = 0; from < tokens.size(); ++to) {
      if (from + 1 == tokens.size() || TokenPair{tokens[from], tokens[from + 1]} != pair) {
        tokens[to] = tokens[from++];
        continue;
      }
      if (to > 0) {
        change({tokens[to - 1], pair.left}, -word.count, index);
        change({tokens[to - 1], result}, word.count, index);
      }
      if (from + 2 < tokens.size()) {
        change({pair.right, tokens[from + 2]}, -word.count, index);
        change({result, tokens[from + 2]}, word.count, index);
      }
      tokens[to] = result;
      from += 2;
    }
    tokens.resize(to);
  }

  void queue_increased() {
    for (const TokenPair& pair : increased_)
      if (const auto found = pairs_.find(pair); found != pairs_.end() && found->second.count > 0)
        queue_.push({found->second.count, pair});
    increased_.clear();
  }

  std::vector<Word> words_;
  std::unordered_map<TokenPair, Occurrences, HashOfPair> pairs_;
  std::unordered_set<TokenPair, HashOfPair> increased_;  ///< pairs to be queued
  std::priority_queue<Counted> queue_;
};

}  // namespace

LearnedTokens learn_tokens(const std::unordered_map<std::string_view, std::int64_t>& words, std::int64_t vocab_size,
                           std::int64_t min_frequency) {
  LearnedTokens learned;
  for (std::int32_t place = 0; place < byte_values; ++place) {
    const char byte = static_cast<char>(byte_at_place(place));
    learned.tokens.push_back(characters_of_bytes({&byte, 1}));
  }
  PairCounts counts(words);
  while (static_cast<std::int64_t>(learned.tokens.size()) < vocab_size) {
    const auto [count, pair] = counts.most_frequent();
    if (count < std::max<std::int64_t>(1, min_frequency)) break;
    counts.merge(pair, static_cast<std::int32_t>(learned.tokens.size()));
    // The token is new. Its bytes have always been merged like a word that consists of these bytes alone, so that no
    // other pair can result in the same token.
    learned.tokens.push_back(learned.tokens[static_cast<std::size_t>(pair.left)] +
                             learned.tokens[static_cast<std::size_t>(pair.right)]);
    learned.merges.push_back(pair);
  }
  return learned;
}

}  // namespace lockstep::detail
