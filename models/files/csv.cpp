#include "lockstep/models/files/csv.h"

#include <algorithm>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

std::string csv_field(const std::string& text, char separator) {
  if (text.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

bool CsvRecords::next(std::vector<std::string>& fields) {
  while (at_ < text_.size() && at_line_end()) end_line();
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  std::size_t count = 0;
  do {
    if (count == fields.size()) fields.emplace_back();
    read_field(fields[count++]);
  } while (at_ < text_.size() && text_[at_] == separator_ && ++at_ > 0);
  fields.resize(count);
  end_line();
  return true;
}

void CsvRecords::end_line() {
  if (at_ == text_.size()) return;
  at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
  ++next_line_;
}

void CsvRecords::read_field(std::string& field) {
  field.clear();
  if (at_ < text_.size() && text_[at_] == '"') read_quoted(field);
  const std::size_t begin = at_;
  while (!at_line_end() && text_[at_] != separator_) ++at_;
  field += text_.substr(begin, at_ - begin);
}

void CsvRecords::read_quoted(std::string& field) {
  while (true) {
    const std::size_t begin = ++at_;  // after a quotation mark
    at_ = std::min(text_.find('"', begin), text_.size());
    require<InputError>(at_ < text_.size(), "line {}: a quotation mark is not closed", line_);
    const std::string_view part = text_.substr(begin, at_ - begin);
    field += part;
    for (std::size_t i = 0; i < part.size(); ++i)
      if (part[i] == '\n' || (part[i] == '\r' && !part.substr(i).starts_with("\r\n"))) ++next_line_;
    if (++at_ == text_.size() || text_[at_] != '"') return;
    field += '"';
  }
}

}  // namespace lockstep
