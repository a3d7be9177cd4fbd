#include "lockstep/models/data/byte_pair_encoder.h"

#include <algorithm>
#include <functional>

namespace lockstep::detail {

/// The merge of a symbol with the next one, or null.
const TokenMerge* BytePairEncoder::merge_at(std::size_t position) const {
  const Symbol& left = symbols_[position];
  return left.id < 0 || left.next >= symbols_.size() ? nullptr : tables_.merge_of({left.id, symbols_[left.next].id});
}

void BytePairEncoder::add_candidate(std::size_t position) {
  const TokenMerge* const merge = merge_at(position);
  if (merge == nullptr) return;
  candidates_.push_back({merge->rank, position});
  std::ranges::push_heap(candidates_, std::greater());
}

void BytePairEncoder::apply(const TokenMerge& merge, std::size_t position) {
  Symbol& left = symbols_[position];
  Symbol& right = symbols_[left.next];
  left.id = merge.result;
  left.next = right.next;
  right.id = -1;
  if (left.next < symbols_.size()) symbols_[left.next].previous = position;
  add_candidate(position);
  if (left.previous < symbols_.size()) add_candidate(left.previous);
}

void BytePairEncoder::encode(std::string_view word, std::vector<std::int64_t>& ids) {
  symbols_.clear();
  for (std::size_t i = 0; i < word.size(); ++i)
    symbols_.push_back({tables_.id_of_byte(static_cast<std::uint8_t>(word[i])), i - 1, i + 1});
  for (std::size_t i = 0; i < word.size(); ++i) add_candidate(i);
  while (!candidates_.empty()) {
    std::ranges::pop_heap(candidates_, std::greater());
    const auto [rank, position] = candidates_.back();
    candidates_.pop_back();
    const TokenMerge* const merge = merge_at(position);  // the symbol may have changed since it was queued
    if (merge != nullptr && merge->rank == rank) apply(*merge, position);
  }
  for (std::size_t i = 0; i < symbols_.size(); i = symbols_[i].next) ids.push_back(symbols_[i].id);
}

}  // namespace lockstep::detail
