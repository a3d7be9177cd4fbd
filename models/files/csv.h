#pragma once

#include <cstdint>
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
  /// The text must outlive this.
  explicit CsvRecords(std::string_view text, char separator = ',') : text_(text), separator_(separator) {}

  /// Reads the next record that is not an empty line into `fields`. Returns false at the end. Throws InputError naming
  /// the line of a quotation mark that is not closed.
  bool next(std::vector<std::string>& fields);
  /// The number, from 1, of the line in which the last record begins.
  std::int64_t line() const { return line_; }

 private:
  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void end_line();
  void read_field(std::string& field);
  void read_quoted(std::string& field);

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t line_ = 0;
};

}  // namespace lockstep
