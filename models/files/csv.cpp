#include "lockstep/models/files/csv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <lockstep/models/files/character_block.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Has a bit, the lowest for the first one, for each of 64 characters that is one of two.
std::uint64_t equal_to(const char* characters, char a, char b) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 64; i += sizeof(CharacterBlock)) {
    const CharacterBlock block(characters + i);
    bits |= std::uint64_t{block.equal_to(a) | block.equal_to(b)} << i;
  }
  return bits;
}

}  // namespace

std::string csv_field(const std::string& text, char separator) {
  if (text.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

/// The position of the next separator or line end from at_ on, or the end of the text.
inline std::size_t CsvRecords::next_mark() {
  std::size_t mark = 0;
  do {
    if (mark_ == marks_end_ && !find_marks()) return text_.size();
    mark = searched_ + marks_[mark_++];
  } while (mark < at_);  // within quotation marks, or the second character of a line end
  return mark;
}

/// Moves to the end of the line if it has only spaces and tabs that are not separators; else returns false.
inline bool CsvRecords::pass_blank_line() {
  std::size_t end = at_;
  while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t') && text_[end] != separator_) ++end;
  if (end < text_.size() && text_[end] != '\n' && text_[end] != '\r') return false;
  at_ = end;
  return true;
}

std::size_t CsvRecords::next(std::span<std::string_view> fields) {
  if (fields.empty()) release();
  while (at_ < text_.size() && pass_blank_line()) end_line();
  if (at_ == text_.size()) return 0;
  line_ = next_line_;
  const std::size_t count = read_plain_record(fields) ? fields.size() : read_record(fields);
  end_line();
  return count;
}

/// Reads a record that has as many fields as there is room for and no quotation marks, if its marks have been found.
bool CsvRecords::read_plain_record(std::span<std::string_view> fields) {
  while (mark_ < marks_end_ && searched_ + marks_[mark_] < at_) ++mark_;
  if (fields.empty() || marks_end_ - mark_ < fields.size()) return false;
  const std::uint32_t* mark = &marks_[mark_];
  const std::size_t end = searched_ + mark[fields.size() - 1];
  if (next_end_or_quote() != end || text_[end] == '"') return false;
  const char* const searched = text_.data() + searched_;
  const char* begin = text_.data() + at_;
  for (std::string_view& field : fields) {
    const char* const field_end = searched + *mark++;
    field = {begin, static_cast<std::size_t>(field_end - begin)};
    begin = field_end + 1;
  }
  at_ = end;
  mark_ += fields.size();
  return true;
}

/// The position of the first line end or quotation mark from at_ on, or the end of the searched characters.
std::size_t CsvRecords::next_end_or_quote() const {
  const std::size_t begin = at_ - searched_;
  std::size_t i = begin / block;
  std::uint64_t bits = ends_and_quotes_[i] & ~std::uint64_t{0} << begin % block;
  while (bits == 0) {
    if (searched_ + ++i * block >= searched_end_) return searched_end_;
    bits = ends_and_quotes_[i];
  }
  return searched_ + i * block + static_cast<std::size_t>(std::countr_zero(bits));
}

std::size_t CsvRecords::read_record(std::span<std::string_view> fields) {
  for (std::size_t count = 0;; ++at_) {
    std::string_view field;
    if (at_ < text_.size() && text_[at_] == '"') {
      field = read_quoted();
    } else {
      const std::size_t begin = std::exchange(at_, next_mark());
      field = text_.substr(begin, at_ - begin);
    }
    if (count < fields.size()) fields[count] = field;
    ++count;
    if (at_ == text_.size() || text_[at_] != separator_) return count;
  }
}

std::vector<std::string> CsvRecords::next_copied() {
  std::vector<std::string_view> fields(CsvRecords(*this).next({}));
  next(fields);
  return {fields.begin(), fields.end()};
}

void CsvRecords::end_line() {
  if (at_ == text_.size()) return;
  at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
  ++next_line_;
}

/// Adds the positions of bits from `begin` on, eight at a time without a branch for each: those that are too many are
/// overwritten.
inline void CsvRecords::add_marks(std::size_t begin, std::uint64_t bits) {
  const std::size_t end = marks_end_ + static_cast<std::size_t>(std::popcount(bits));
  for (; marks_end_ < end; marks_end_ += 8)
    for (std::size_t i = 0; i < 8; ++i, bits &= bits - 1)
      marks_[marks_end_ + i] = static_cast<std::uint32_t>(begin) + static_cast<std::uint32_t>(std::countr_zero(bits));
  marks_end_ = end;
}

/// Searches the text until there are marks; returns false at its end.
bool CsvRecords::find_marks() {
  for (mark_ = marks_end_ = 0; marks_end_ == 0 && searched_end_ < text_.size();) {
    searched_ = searched_end_;
    const std::string_view part = text_.substr(searched_, blocks_at_once * block);
    searched_end_ += part.size();
    for (std::size_t i = 0; i < part.size(); i += block) {
      __builtin_prefetch(part.data() + i + 4096);  // while the fields of this part are converted
      std::array<char, block> last{};
      const bool whole = part.size() - i >= block;
      if (!whole) part.copy(last.data(), last.size(), i);
      const char* const characters = whole ? &part[i] : last.data();
      const std::uint64_t within = whole ? ~std::uint64_t{0} : (std::uint64_t{1} << (part.size() - i)) - 1;
      const std::uint64_t ends = equal_to(characters, '\n', '\r') & within;
      ends_and_quotes_[i / block] = ends | equal_to(characters, '"', '"');
      add_marks(i, ends | (equal_to(characters, separator_, separator_) & within));
    }
  }
  return marks_end_ > 0;
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
    if (!doubled && joined.empty() && (at_line_end() || text_[at_] == separator_)) return part;
    joined += part;
    if (!doubled) break;
    joined += '"';
  }
  const std::size_t begin = std::exchange(at_, next_mark());
  joined += text_.substr(begin, at_ - begin);
  return joined_.emplace_back(std::move(joined));
}

}  // namespace lockstep
