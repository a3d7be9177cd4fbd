#include "lockstep/models/data/csv_column_part.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// A number's text without spaces around it and without a plus sign.
std::string_view number_text(std::string_view text) {
  if (!text.empty() && text.front() > '+' && text.back() > ' ') return text;  // begins with a digit, minus or point
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text = text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

/// Whether eight characters, the first one in the lowest byte, are digits.
bool are_digits(std::uint64_t characters) {
  constexpr std::uint64_t high_halves = 0xf0f0f0f0f0f0f0f0;
  constexpr std::uint64_t above_nine = 0x0606060606060606;  // moves all but 0 to 9 out of 0x30 to 0x3f
  return ((characters & high_halves) | (((characters + above_nine) & high_halves) >> 4)) == 0x3333333333333333;
}

/// The number that eight digits are: adds pairs of neighbors, then pairs of pairs, then those.
std::uint64_t number_of_digits(std::uint64_t digits) {
  digits = (digits & 0x0f0f0f0f0f0f0f0f) * (1 + (10 << 8)) >> 8;
  digits = (digits & 0x00ff00ff00ff00ff) * (1 + (100 << 16)) >> 16;
  return (digits & 0x0000ffff0000ffff) * (1 + (std::uint64_t{10000} << 32)) >> 32;
}

/// Appends the digits at the beginning of `text` to a number and takes them off; returns how many there are.
std::size_t take_digits(std::string_view& text, std::uint64_t& number) {
  constexpr std::array<std::uint64_t, 9> powers{1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
  const std::size_t before = text.size();
  std::uint64_t eight = 0;
  for (; text.size() >= sizeof(eight); text.remove_prefix(sizeof(eight))) {
    std::memcpy(&eight, text.data(), sizeof(eight));
    if (!are_digits(eight)) break;
    number = powers[8] * number + number_of_digits(eight);
  }
  // The last characters, with those before them, which are digits that are taken as 0 here.
  if (const std::size_t rest = text.size(); rest > 0 && rest < sizeof(eight) && before >= sizeof(eight)) {
    std::memcpy(&eight, text.data() + rest - sizeof(eight), sizeof(eight));
    if (are_digits(eight)) {
      number = powers[rest] * number +
               number_of_digits(eight >> (8 * (sizeof(eight) - rest)) << (8 * (sizeof(eight) - rest)));
      text.remove_prefix(rest);
    }
  }
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
    number = 10 * number + static_cast<std::uint64_t>(text[0] - '0');
  return before - text.size();
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  constexpr std::size_t most_digits = 18;
  std::string_view rest = text.substr(text.starts_with('-') ? 1 : 0);
  std::uint64_t digits = 0;
  if (const std::size_t count = take_digits(rest, digits); rest.empty() && count >= 1 && count <= most_digits)
    return text[0] == '-' ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// As number_in, but faster, for most numbers: at most 19 digits, times a power of ten that a double holds exactly. The
/// product with that power is off by a few units in the last place of a double, which rarely changes the float; if it
/// could, there is no result.
std::optional<float> usual_number_in(std::string_view text) {
  constexpr std::array powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::size_t most_digits = 19;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::uint64_t digits = 0;
  const std::size_t whole = take_digits(text, digits);
  const std::size_t significant = digits == 0 ? 0 : whole;
  std::size_t decimals = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimals = take_digits(text, digits);
  }
  if (!text.empty() || whole + decimals == 0 || significant + decimals > most_digits) return std::nullopt;
  constexpr double error = 0x1p-50;
  const double value = static_cast<double>(digits) / powers[decimals];
  const auto rounded = static_cast<float>(value * (1 - error));
  if (rounded != static_cast<float>(value * (1 + error))) return std::nullopt;
  return negative ? -rounded : rounded;
}

std::optional<float> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);  // 0 or infinite
  return static_cast<float>(value);
}

float as_number(std::int64_t integer) { return static_cast<float>(static_cast<double>(integer)); }

}  // namespace

bool CsvColumnPart::add_integer(std::string_view text) {
  const std::optional<std::int64_t> value = integer_in(number_text(text));
  if (!value) return false;
  has_negative_zero_ = has_negative_zero_ || (*value == 0 && text.find('-') != text.npos);
  integers_.push_back(*value);
  return true;
}

void CsvColumnPart::reserve(std::int64_t rows) {
  const auto count = static_cast<std::size_t>(rows);
  if (type_ == CsvType::integer) integers_.reserve(count);
  if (type_ == CsvType::number) numbers_.reserve(count);
  if (type_ == CsvType::category) texts_.reserve(count);
}

void CsvColumnPart::become_numbers() {
  type_ = CsvType::number;
  complete_ = !has_negative_zero_;
  numbers_.reserve(integers_.capacity());
  std::ranges::transform(integers_, std::back_inserter(numbers_), as_number);
  integers_.clear();
}

void CsvColumnPart::add(std::string_view text, bool missing, const std::string& column) {
  if (!missing && type_ == CsvType::number) {
    if (const std::optional<float> value = usual_number_in(number_text(text))) {
      numbers_.push_back(*value);
      return;
    }
  }
  if (!missing && type_ == CsvType::integer && add_integer(text)) return;
  add_unusual(text, missing, column);
}

void CsvColumnPart::add_unusual(std::string_view text, bool missing, const std::string& column) {
  if (type_ == CsvType::integer) {
    require<InputError>(!given_ || !missing, "column {:?} has no value, which must be a whole number", column);
    require<InputError>(!given_, "column {:?}: {:?} is not a whole number", column, text);
    become_numbers();
  }
  if (type_ == CsvType::number) {
    const std::optional<float> value = missing ? std::numeric_limits<float>::quiet_NaN() : number_in(number_text(text));
    if (value) {
      numbers_.push_back(*value);
      return;
    }
    require<InputError>(!given_, "column {:?}: {:?} is not a number", column, text);
    type_ = CsvType::category;
    complete_ = numbers_.empty();
  }
  if (complete_) texts_.push_back(missing ? -1 : code_of(text));
}

std::int32_t CsvColumnPart::code_of(std::string_view text) {
  const auto found = codes_.find(text);
  if (found != codes_.end()) return found->second;
  return codes_.emplace(text, static_cast<std::int32_t>(codes_.size())).first->second;
}

bool CsvColumnPart::has_values(CsvType of_column) const {
  const bool converts = type_ == CsvType::integer && of_column == CsvType::number && !has_negative_zero_;
  return complete_ && (type_ == of_column || converts);
}

void CsvColumnPart::copy_to(CsvColumn& column, std::int64_t row) const {
  if (column.type == CsvType::integer)
    std::ranges::copy(integers_, column.values.data<std::int64_t>() + row);
  else if (column.type == CsvType::category)
    std::ranges::copy(texts_, column.values.data<std::int32_t>() + row);
  else if (type_ == CsvType::integer)
    std::ranges::transform(integers_, column.values.data<float>() + row, as_number);
  else
    std::ranges::copy(numbers_, column.values.data<float>() + row);
}

void CsvColumnPart::replace_codes(const std::vector<std::int32_t>& new_codes) {
  for (std::int32_t& code : texts_)
    if (code >= 0) code = new_codes[static_cast<std::size_t>(code)];
}

}  // namespace lockstep
