#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// `text` as a field of a CSV file (RFC 4180): in quotation marks if it contains the separator, a quotation mark or a
/// line break.
std::string csv_field(const std::string& text, char separator = ',');

/// Splits the text of a CSV file (RFC 4180) into records. A field that begins with a quotation mark may contain
/// separators, line ends and, doubled, quotation marks. Lines end with a line feed, a carriage return or both.
class CsvRecords {
 public:
  /// The text must outlive this. Its first line has the number `first_line`.
  explicit CsvRecords(std::string_view text, char separator = ',', std::int64_t first_line = 1)
      : text_(text), separator_(separator), next_line_(first_line) {}

  /// Reads the next record that is not an empty line into `fields`, which are valid until the next call. Returns false
  /// at the end. Throws InputError naming the line of a quotation mark that is not closed.
  bool next(std::vector<std::string_view>& fields);
  /// The number of the line in which the last record begins.
  std::int64_t line() const { return line_; }
  /// The number of the line after the last record, or after the text at its end.
  std::int64_t next_line() const { return next_line_; }
  /// Where the text that is not yet read begins.
  std::size_t position() const { return at_; }

 private:
  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void end_line();
  std::string_view read_field();
  std::string_view read_plain();
  std::string_view read_quoted();
  std::size_t next_mark();
  void start_block(std::size_t at) {
    block_ = at;
    marks_ = 0;
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t block_ = 0;    ///< where the characters after those of marks_ begin
  std::uint64_t marks_ = 0;  ///< has a bit for each character that may end a field or quote one and is not yet used
  std::int64_t next_line_;
  std::int64_t line_ = 0;
  std::deque<std::string> joined_;  ///< the fields of a record that are not a part of the text
};

}  // namespace lockstep
