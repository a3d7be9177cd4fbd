#include "lockstep/models/files/csv.h"

namespace lockstep {

std::string csv_field(const std::string& text, char separator) {
  if (text.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

std::vector<std::string> csv_fields(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_quote = line[i] == '"';
    if (is_quote && in_quotes && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (is_quote)
      in_quotes = !in_quotes;
    else if (line[i] == separator && !in_quotes)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

}  // namespace lockstep
