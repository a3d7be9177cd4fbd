#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// `text` as a field of a CSV file (RFC 4180): in quotation marks if it contains the separator, a quotation mark or a
/// line break.
std::string csv_field(const std::string& text, char separator = ',');

/// Splits the text of a CSV file (RFC 4180) into records. A field that begins with a quotation mark may contain
/// separators, line ends and doubled quotation marks. Lines end with a line feed, a carriage return or both.
class CsvRecords {
 public:
  /// The text must outlive this. Its first line has the number `first_line`.
  explicit CsvRecords(std::string_view text, char separator = ',', std::int64_t first_line = 1)
      : text_(text), separator_(separator), next_line_(first_line) {}

  /// Reads the next record and returns its number of fields, 0 at the end of the text. Skips lines without separators
  /// that contain nothing but spaces and tabs. Writes the first fields of the record to `fields`, as many as fit; they
  /// are valid until release() or a call with empty `fields`. Throws InputError, naming the record's first line, for a
  /// quotation mark that is not closed.
  std::size_t next(std::span<std::string_view> fields);
  /// Like next(), but returns copies of all fields of the record; none at the end.
  std::vector<std::string> next_copied();
  /// Frees the copies of fields that are not substrings of the text, such as fields with doubled quotation marks.
  void release() { joined_.clear(); }
  /// The number of the line in which the last record begins.
  std::int64_t line() const { return line_; }
  /// The number of the line after the last record or, at the end of the text, after its last line.
  std::int64_t next_line() const { return next_line_; }
  /// Position of the first character that has not been read.
  std::size_t position() const { return at_; }

 private:
  static constexpr std::size_t block = 64;
  static constexpr std::size_t blocks_at_once = 128;

  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  bool pass_blank_line();
  void end_line();
  bool read_plain_record(std::span<std::string_view> fields);
  std::size_t read_record(std::span<std::string_view> fields);
  std::string_view read_quoted();
  std::size_t next_mark();
  std::size_t next_end_or_quote() const;
  void add_marks(std::size_t begin, std::uint64_t bits);
  bool find_marks();

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  /// Positions, relative to searched_, of the characters that may end a field, with room for one more block.
  std::array<std::uint32_t, (blocks_at_once + 1) * block> marks_{};
  /// For each block, a bit mask of the characters that are line ends or quotation marks.
  std::array<std::uint64_t, blocks_at_once> ends_and_quotes_{};
  std::size_t mark_ = 0;       ///< the first of the marks that is not yet used
  std::size_t marks_end_ = 0;  ///< number of marks
  std::size_t searched_ = 0;   ///< where the searched characters begin
  std::size_t searched_end_ = 0;
  std::int64_t next_line_;
  std::int64_t line_ = 0;
  std::deque<std::string> joined_;  ///< fields that are not substrings of the text
};

}  // namespace lockstep
