#include "lockstep/models/files/csv.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Characters that are compared at once. marks_of sets a bit, the last of `bits_of_byte`, for each that is one of four.
struct Block {
#ifdef __SSE2__
  static constexpr std::size_t bits_of_byte = 1;
  __m128i bytes;

  std::uint64_t marks_of(char a, char b, char c, char d) const {
    const auto equal = [this](char byte) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)); };
    const __m128i found = _mm_or_si128(_mm_or_si128(equal(a), equal(b)), _mm_or_si128(equal(c), equal(d)));
    return static_cast<std::uint64_t>(_mm_movemask_epi8(found));
  }
#else
  static constexpr std::size_t bits_of_byte = 8;
  std::uint64_t bytes;

  std::uint64_t marks_of(char a, char b, char c, char d) const {
    constexpr std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7f;
    const auto equal = [this](char byte) {
      const std::uint64_t different = bytes ^ (std::uint64_t{0x0101010101010101} * static_cast<unsigned char>(byte));
      return ~(((different & low_bits) + low_bits) | different | low_bits);
    };
    return equal(a) | equal(b) | equal(c) | equal(d);
  }
#endif
};

}  // namespace

std::string csv_field(const std::string& text, char separator) {
  if (text.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

bool CsvRecords::next(std::vector<std::string_view>& fields) {
  while (at_ < text_.size() && at_line_end()) end_line();
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  start_block(at_);
  fields.clear();
  joined_.clear();
  do {
    fields.push_back(read_field());
  } while (at_ < text_.size() && text_[at_] == separator_ && ++at_ > 0);
  end_line();
  return true;
}

void CsvRecords::end_line() {
  if (at_ == text_.size()) return;
  at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
  ++next_line_;
}

std::string_view CsvRecords::read_field() {
  return at_ < text_.size() && text_[at_] == '"' ? read_quoted() : read_plain();
}

std::string_view CsvRecords::read_plain() {
  const std::size_t begin = at_;
  do {
    at_ = next_mark();
  } while (at_ < text_.size() && text_[at_] == '"');  // which is a character like any other after the first one
  return text_.substr(begin, at_ - begin);
}

/// The position of the next separator, line end or quotation mark, or the end of the text.
std::size_t CsvRecords::next_mark() {
  for (; marks_ == 0; block_ += sizeof(Block)) {
    if (block_ >= text_.size()) return text_.size();
    Block block{};
    if (text_.size() - block_ >= sizeof(Block))
      std::memcpy(&block, &text_[block_], sizeof(Block));
    else
      std::memcpy(&block, &text_[block_], text_.size() - block_);
    marks_ = block.marks_of(separator_, '\n', '\r', '"');
  }
  const std::size_t byte = static_cast<std::size_t>(std::countr_zero(marks_)) / Block::bits_of_byte;
  const std::size_t mark = block_ - sizeof(Block) + byte;
  marks_ &= marks_ - 1;
  return mark;
}

std::string_view CsvRecords::read_quoted() {
  std::string joined;
  while (true) {
    const std::size_t begin = ++at_;  // after a quotation mark
    at_ = std::min(text_.find('"', begin), text_.size());
    require<InputError>(at_ < text_.size(), "line {}: a quotation mark is not closed", line_);
    const std::string_view part = text_.substr(begin, at_ - begin);
    for (std::size_t i = 0; i < part.size(); ++i)
      if (part[i] == '\n' || (part[i] == '\r' && !part.substr(i).starts_with("\r\n"))) ++next_line_;
    const bool doubled = ++at_ < text_.size() && text_[at_] == '"';
    if (!doubled && joined.empty() && (at_line_end() || text_[at_] == separator_)) {
      start_block(at_ + 1);
      return part;
    }
    joined += part;
    if (!doubled) break;
    joined += '"';
  }
  start_block(at_);
  joined += read_plain();
  return joined_.emplace_back(std::move(joined));
}

}  // namespace lockstep
