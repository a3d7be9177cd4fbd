#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Numbers distinct texts from 0, in the order of their first occurrence.
class TextCodes {
 public:
  /// The number of `text`; a new text gets the next number.
  std::int32_t code_of(std::string_view text);
  /// The texts, by their numbers.
  const std::deque<std::string>& texts() const { return texts_; }

 private:
  /// A text of at most 16 bytes, or the hash of a longer text.
  struct Key {
    std::uint64_t first, last;
    std::size_t size;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key;
    std::int32_t code = -1;  ///< -1: empty
  };

  static Key key_of(std::string_view text);
  Slot& slot_of(const Key& key, std::string_view text);
  void grow();

  std::deque<std::string> texts_;
  std::vector<Slot> slots_;  ///< a hash table with linear probing, at most half full; its size is a power of two
};

}  // namespace lockstep
