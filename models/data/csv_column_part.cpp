#include "lockstep/models/data/csv_column_part.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <lockstep/models/files/character_block.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/parse_number.h>

namespace lockstep {
namespace {

/// A number's text without white space around it and without a plus sign.
std::string_view number_text(std::string_view text) {
  if (!text.empty() && text.front() > '+' && text.back() > ' ') return text;  // begins with a digit, minus or point
  constexpr const char* white_space = " \t\n\v\f\r";
  const std::size_t begin = std::min(text.find_first_not_of(white_space), text.size());
  text = text.substr(begin, text.find_last_not_of(white_space) + 1 - begin);
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

constexpr std::size_t read_before = sizeof(CharacterBlock) + 1;  ///< the end of a text, by usual_..._in

/// parse_number for at most eight digits, and without -0.
std::optional<std::int64_t> usual_integer_in(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::size_t count = text.size() - (negative ? 1 : 0);
  if (count < 1 || count > 8) return std::nullopt;
  std::uint64_t digits = 0;  // the last eight characters as numbers of 0 to 9, those before the text as 0
  std::memcpy(&digits, text.data() + text.size() - sizeof(digits), sizeof(digits));
  digits = (digits ^ 0x3030303030303030) >> (64 - 8 * count) << (64 - 8 * count);
  const bool all_below_ten = ((digits | (digits + 0x7676767676767676)) & 0x8080808080808080) == 0;
  if (!all_below_ten || (negative && digits == 0)) return std::nullopt;
  // Adds pairs of neighbors, then pairs of pairs, then those.
  digits = digits * (1 + (10 << 8)) >> 8;
  digits = (digits & 0x00ff00ff00ff00ff) * (1 + (100 << 16)) >> 16;
  digits = (digits & 0x0000ffff0000ffff) * (1 + (std::uint64_t{10000} << 32)) >> 32;
  return static_cast<std::int64_t>(digits) * (negative ? -1 : 1);  // a branch would often be mispredicted
}

/// number_in for a number without an exponent, with at most 19 digits that are not leading zeros and 22 decimals. The
/// product of the digits and a fraction in double is off by at most three roundings, which changes the float only if it
/// is next to the middle between two floats; then there is no result.
std::optional<float> usual_number_in(std::string_view text) {
  static constexpr std::array fractions{1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                        1e-8,  1e-9,  1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
                                        1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};
  if (text.empty() || text.size() > sizeof(CharacterBlock)) return std::nullopt;
  const bool negative = text.front() == '-';
  const char* const end = text.data() + text.size();
  const CharacterBlock characters(end - sizeof(CharacterBlock));
  const std::uint32_t places = ~std::uint32_t{negative} << (sizeof(CharacterBlock) - text.size());
  const std::uint32_t digits = characters.digits() & places;
  const std::uint32_t point = characters.equal_to('.') & places;
  if ((digits | point) != places || digits == 0 || (point & (point - 1)) != 0) return std::nullopt;
  const auto count = static_cast<std::size_t>(std::popcount(digits));
  const std::size_t decimals = point == 0 ? 0 : static_cast<std::size_t>(std::countl_zero(point));
  const std::size_t after = point == 0 ? count : decimals;
  const auto eights = characters.numbers(after, count - after, CharacterBlock(end - sizeof(CharacterBlock) - 1));
  if (decimals >= fractions.size() || eights[0] != 0 || eights[1] >= 1000) return std::nullopt;
  const std::uint64_t number = (eights[1] * 100'000'000 + eights[2]) * 100'000'000 + eights[3];
  const double value = static_cast<double>(number) * fractions[decimals];
  constexpr std::uint64_t error = 4;                        // in units of the last place of a double
  constexpr std::uint64_t middle = std::uint64_t{1} << 28;  // the bits of a double after those of a float
  const std::uint64_t rest = std::bit_cast<std::uint64_t>(value) % (2 * middle);
  if (rest - (middle - error) <= 2 * error) return std::nullopt;
  return static_cast<float>(negative ? -value : value);
}

std::optional<float> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (std::isnan(value)) return std::nullopt;  // a missing value is one of na_values
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);  // 0 or infinite
  return static_cast<float>(value);
}

float as_number(std::int64_t integer) { return static_cast<float>(static_cast<double>(integer)); }

}  // namespace

MissingTexts::MissingTexts(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    empty_ = empty_ || text.empty();
    if (text.empty()) continue;
    by_first_[static_cast<unsigned char>(text[0])].push_back(text);
    has_numbers_ = has_numbers_ || text.find_first_not_of("-.0123456789") == text.npos;
  }
}

void CsvColumnPart::reserve(std::size_t rows) {
  if (type_ == CsvType::integer) integers_.reserve(rows);
  if (type_ == CsvType::number) numbers_.reserve(rows);
  if (type_ == CsvType::category) categories_.reserve(rows);
}

void CsvColumnPart::become_numbers() {
  type_ = CsvType::number;
  complete_ = !has_negative_zero_;
  const std::span<const std::int64_t> integers = integers_.values();
  numbers_.reserve(integers_.capacity());
  std::ranges::transform(integers, numbers_.room_for(integers.size()), as_number);
  numbers_.append(integers.size());
  integers_ = {};
}

void CsvColumnPart::become_categories() {
  type_ = CsvType::category;
  const std::size_t count = numbers_.values().size();
  complete_ = missing_values_ == count;
  if (!complete_) return;
  std::fill_n(categories_.room_for(count), count, -1);
  categories_.append(count);
}

void CsvColumnPart::add(const CsvFields& fields, const std::string& column) {
  for (std::size_t row = 0; row < fields.rows; ++row) {
    if (type_ == CsvType::category) return add_texts(fields, row);
    if (!missing_->has_numbers()) row = add_usual(fields, row);
    if (row < fields.rows) add_unusual(fields[row], column);
  }
}

void CsvColumnPart::add_texts(const CsvFields& fields, std::size_t row) {
  if (!complete_) return;
  std::int32_t* to = categories_.room_for(fields.rows - row);
  categories_.append(fields.rows - row);
  for (; row < fields.rows; ++row) *to++ = code_of(fields[row]);
}

/// Adds values from `row` on, up to the first one that is missing or written in an unusual way; returns its row.
std::size_t CsvColumnPart::add_usual(const CsvFields& fields, std::size_t row) {
  if (type_ == CsvType::integer)
    return add_while(fields, row, integers_, [](std::string_view text) { return usual_integer_in(text); });
  return add_while(fields, row, numbers_, [](std::string_view text) { return usual_number_in(text); });
}

template <class Value, class Convert>
std::size_t CsvColumnPart::add_while(const CsvFields& fields, std::size_t row, CsvValues<Value>& values,
                                     Convert convert) {
  const auto file_begin = reinterpret_cast<std::uintptr_t>(file_.data());
  const std::size_t first = row;
  for (Value* to = values.room_for(fields.rows - row); row < fields.rows; ++row) {
    const std::string_view text = fields[row];
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(text.data()) + text.size() - file_begin;
    if (end < read_before || end > file_.size()) break;
    const std::optional<Value> value = convert(text);
    if (!value) break;
    *to++ = *value;
  }
  values.append(row - first);
  return row;
}

void CsvColumnPart::add_unusual(std::string_view text, const std::string& column) {
  const bool missing = missing_->contain(text);
  if (type_ == CsvType::integer) {
    if (const auto value = missing ? std::nullopt : parse_number<std::int64_t>(number_text(text))) {
      has_negative_zero_ = has_negative_zero_ || (*value == 0 && text.find('-') != text.npos);
      integers_.push_back(*value);
      return;
    }
    require<InputError>(!given_ || !missing, "column {:?} has no value, which must be a whole number", column);
    require<InputError>(!given_, "column {:?}: {:?} is not a whole number", column, text);
    become_numbers();
  }
  if (type_ == CsvType::number) {
    const std::optional<float> value = missing ? std::numeric_limits<float>::quiet_NaN() : number_in(number_text(text));
    if (value) {
      numbers_.push_back(*value);
      if (missing) ++missing_values_;
      return;
    }
    require<InputError>(!given_, "column {:?}: {:?} is not a number", column, text);
    become_categories();
  }
  if (complete_) categories_.push_back(code_of(text));
}

bool CsvColumnPart::has_values(CsvType of_column) const {
  const bool converts = type_ == CsvType::integer && of_column == CsvType::number && !has_negative_zero_;
  return complete_ && (type_ == of_column || converts);
}

void CsvColumnPart::copy_to(CsvColumn& column, std::int64_t row) const {
  if (column.type == CsvType::integer)
    std::ranges::copy(integers_.values(), column.values.data<std::int64_t>() + row);
  else if (column.type == CsvType::category)
    std::ranges::copy(categories_.values(), column.values.data<std::int32_t>() + row);
  else if (type_ == CsvType::integer)
    std::ranges::transform(integers_.values(), column.values.data<float>() + row, as_number);
  else
    std::ranges::copy(numbers_.values(), column.values.data<float>() + row);
}

void CsvColumnPart::replace_codes(const std::vector<std::int32_t>& new_codes) {
  for (std::int32_t& code : categories_.values())
    if (code >= 0) code = new_codes[static_cast<std::size_t>(code)];
}

}  // namespace lockstep
