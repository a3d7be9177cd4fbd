#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// `text` as a field of a CSV file (RFC 4180): in quotation marks if it contains the separator, a quotation mark or a
/// line break.
std::string csv_field(const std::string& text, char separator = ',');
/// The texts of the fields of a line of a CSV file.
std::vector<std::string> csv_fields(std::string_view line, char separator = ',');

}  // namespace lockstep
