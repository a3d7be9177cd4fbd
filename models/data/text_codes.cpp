#include "lockstep/models/data/text_codes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t most_in_key = 16;

template <class Word>
std::uint64_t word_at(const char* characters) {
  Word word = 0;
  std::memcpy(&word, characters, sizeof(word));
  return word;
}

}  // namespace

TextCodes::Key TextCodes::key_of(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  Key key{0, 0, text.size()};
  if (text.size() > most_in_key) {
    key.first = std::hash<std::string_view>()(text);
  } else if (text.size() >= 8) {  // two words that may overlap
    key.first = word_at<std::uint64_t>(begin);
    key.last = word_at<std::uint64_t>(end - 8);
  } else if (text.size() >= 4) {
    key.first = word_at<std::uint32_t>(begin);
    key.last = word_at<std::uint32_t>(end - 4);
  } else {
    for (const char character : text) key.first = key.first << 8 | static_cast<unsigned char>(character);
  }
  return key;
}

/// Where the number of `text` is or would be.
TextCodes::Slot& TextCodes::slot_of(const Key& key, std::string_view text) {
  const auto product = static_cast<unsigned __int128>(key.first ^ 0x9e3779b97f4a7c15) * (key.last ^ 0xc2b2ae3d27d4eb4f);
  const std::size_t hash = (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64)) + key.size;
  const std::size_t mask = slots_.size() - 1;
  const auto is_other = [&](const Slot& slot) {
    if (slot.code < 0) return false;
    return slot.key != key || (key.size > most_in_key && texts_[static_cast<std::size_t>(slot.code)] != text);
  };
  std::size_t slot = hash & mask;
  while (is_other(slots_[slot])) slot = (slot + 1) & mask;
  return slots_[slot];
}

std::int32_t TextCodes::code_of(std::string_view text) {
  if (2 * texts_.size() >= slots_.size()) grow();
  const Key key = key_of(text);
  Slot& slot = slot_of(key, text);
  if (slot.code < 0) {
    slot = {key, static_cast<std::int32_t>(texts_.size())};
    texts_.emplace_back(text);
  }
  return slot.code;
}

void TextCodes::grow() {
  const std::vector<Slot> before =
      std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(16, 2 * slots_.size())));
  for (const Slot& slot : before)
    if (slot.code >= 0) slot_of(slot.key, texts_[static_cast<std::size_t>(slot.code)]) = slot;
}

}  // namespace lockstep
