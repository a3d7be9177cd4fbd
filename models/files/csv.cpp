#include "lockstep/models/files/csv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <lockstep/models/files/character_block.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

constexpr std::size_t characters_of_marks = 64;

/// Has a bit, the lowest for the first one, for each of 64 characters that is one of three.
std::uint64_t marks_of(const char* characters, char a, char b, char c) {
  std::uint64_t marks = 0;
  for (std::size_t i = 0; i < characters_of_marks; i += sizeof(CharacterBlock)) {
    const CharacterBlock block(characters + i);
    marks |= std::uint64_t{block.equal_to(a) | block.equal_to(b) | block.equal_to(c)} << i;
  }
  return marks;
}

}  // namespace

std::string csv_field(const std::string& text, char separator) {
  if (text.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

/// The position of the next separator or line end from `at` on, or the end of the text.
inline std::size_t CsvRecords::next_mark(std::size_t at) {
  std::size_t mark = 0;
  do {
    if (mark_ == marks_end_ && !find_marks()) return text_.size();
    mark = searched_ + marks_[mark_++];
  } while (mark < at);  // within quotation marks, or the second character of a line end
  return mark;
}

std::size_t CsvRecords::next(std::span<std::string_view> fields) {
  if (fields.empty()) release();
  while (at_ < text_.size() && at_line_end()) end_line();
  if (at_ == text_.size()) return 0;
  line_ = next_line_;
  const std::string_view text = text_;  // copies, since the compiler assumes that `fields` may overlap this
  const char separator = separator_;
  std::size_t count = 0;
  for (std::size_t at = at_;; ++at) {
    std::string_view field;
    if (at < text.size() && text[at] == '"') {
      field = read_quoted(at);
    } else {
      const std::size_t end = next_mark(at);
      field = {text.data() + at, end - at};
      at_ = end;
    }
    at = at_;
    if (count < fields.size()) fields[count] = field;
    ++count;
    if (at == text.size() || text[at] != separator) break;
  }
  end_line();
  return count;
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

/// Searches the text until there are marks; returns false at its end.
bool CsvRecords::find_marks() {
  for (mark_ = marks_end_ = 0; marks_end_ == 0 && searched_end_ < text_.size();) {
    searched_ = searched_end_;
    const std::string_view part = text_.substr(searched_, searched_at_once);
    searched_end_ += part.size();
    for (std::size_t i = 0; i < part.size(); i += characters_of_marks) {
      __builtin_prefetch(part.data() + i + searched_at_once);  // while the fields of this part are converted
      std::array<char, characters_of_marks> last{};
      const bool whole = part.size() - i >= characters_of_marks;
      if (!whole) part.copy(last.data(), last.size(), i);
      std::uint64_t bits = marks_of(whole ? &part[i] : last.data(), separator_, '\n', '\r');
      if (!whole) bits &= (std::uint64_t{1} << (part.size() - i)) - 1;
      // Eight positions at a time, without a branch for each: those that are too many are overwritten.
      const std::size_t end = marks_end_ + static_cast<std::size_t>(std::popcount(bits));
      for (std::size_t begin = marks_end_; begin < end; begin += 8)
        for (std::size_t k = 0; k < 8; ++k, bits &= bits - 1)
          marks_[begin + k] = static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(std::countr_zero(bits));
      marks_end_ = end;
    }
  }
  return marks_end_ > 0;
}

std::string_view CsvRecords::read_quoted(std::size_t at) {
  std::string joined;
  at_ = at;
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
  const std::size_t begin = at_;
  at_ = next_mark(begin);
  joined += text_.substr(begin, at_ - begin);
  return joined_.emplace_back(std::move(joined));
}

}  // namespace lockstep
