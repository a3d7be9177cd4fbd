#include "lockstep/models/data/csv_column_part.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <lockstep/models/files/character_block.h>
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

constexpr std::size_t read_before = sizeof(CharacterBlock);  ///< the end of a text, by usual_..._in

/// The last `digits` of the eight characters before `end` as numbers of 0 to 9, if they are digits, in the highest
/// bytes; 0 in the others. `digits` is between -16 and 24.
std::uint64_t last_digits(const char* end, std::ptrdiff_t digits) {
  static constexpr auto masks = [] {  // the byte at 24 + i is 0 if i is negative
    std::array<std::uint8_t, 48> bytes{};
    std::fill(bytes.begin() + 24, bytes.end(), std::uint8_t{0xff});
    return bytes;
  }();
  std::uint64_t characters = 0;
  std::uint64_t mask = 0;
  std::memcpy(&characters, end - sizeof(characters), sizeof(characters));
  std::memcpy(&mask, masks.data() + 16 + digits, sizeof(mask));
  return (characters ^ 0x3030303030303030) & mask;
}

/// The number of eight digits, of which the first one is in the lowest byte: adds pairs of neighbors, then pairs of
/// pairs, then those.
std::uint64_t number_of_digits(std::uint64_t digits) {
  digits = digits * (1 + (10 << 8)) >> 8;
  digits = (digits & 0x00ff00ff00ff00ff) * (1 + (100 << 16)) >> 16;
  return (digits & 0x0000ffff0000ffff) * (1 + (std::uint64_t{10000} << 32)) >> 32;
}

/// integer_in for at most eight digits, and without -0.
std::optional<std::int64_t> usual_integer_in(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::size_t count = text.size() - (negative ? 1 : 0);
  if (count < 1 || count > 8) return std::nullopt;
  const std::uint64_t digits = last_digits(text.data() + text.size(), static_cast<std::ptrdiff_t>(count));
  const bool all_below_ten = ((digits | (digits + 0x7676767676767676)) & 0x8080808080808080) == 0;
  if (!all_below_ten || (negative && digits == 0)) return std::nullopt;
  // Without a branch, which would often be mispredicted.
  const std::int64_t sign = negative ? -1 : 1;
  return sign * static_cast<std::int64_t>(number_of_digits(digits));
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

constexpr int most_decimals = 22;
constexpr std::array<double, most_decimals + 1> fractions{1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                                          1e-8,  1e-9,  1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
                                                          1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};
constexpr auto powers = [] {  // 0 where they do not fit 64 bits
  std::array<std::uint64_t, most_decimals + 1> all{1};
  for (std::size_t i = 1; i <= 19; ++i) all[i] = 10 * all[i - 1];
  return all;
}();

/// number_in for at most eight digits before the point and 22 after it, of which 19 are not leading zeros: their number
/// fits 64 bits. Its product with a fraction in double is off by at most three roundings, which rarely changes the
/// float; if it could, there is no result.
std::optional<float> usual_number_in(std::string_view text) {
  constexpr std::uint64_t eight_digits = 100'000'000;
  if (text.empty() || text.size() > read_before) return std::nullopt;
  const bool negative = text.front() == '-';
  const char* const end = text.data() + text.size();
  const CharacterBlock characters(end - read_before);
  const std::uint32_t places = ~std::uint32_t{negative} << (read_before - text.size());
  const std::uint32_t digits = characters.digits() & places;
  const std::uint32_t points = characters.equal_to('.') & places;
  if ((digits | points) != places || digits == 0 || (points & (points - 1)) != 0) return std::nullopt;
  const int decimals = points == 0 ? 0 : std::countl_zero(points);
  const int whole = std::popcount(digits) - decimals;
  if (decimals > most_decimals || whole > 8) return std::nullopt;
  const std::uint64_t before = number_of_digits(last_digits(end - decimals - std::popcount(points), whole));
  const std::uint64_t high = number_of_digits(last_digits(end - 16, decimals - 16));
  const std::uint64_t middle = number_of_digits(last_digits(end - 8, decimals - 8));
  const std::uint64_t low = number_of_digits(last_digits(end, decimals));
  // Without a branch, which would often be mispredicted.
  const bool fits = (static_cast<int>(whole + decimals <= 19) | static_cast<int>(before == 0 && high < 1000)) != 0;
  if (!fits) return std::nullopt;
  const auto place = static_cast<std::size_t>(decimals);
  const std::uint64_t number = before * powers[place] + (high * eight_digits + middle) * eight_digits + low;
  constexpr double error = 0x1p-50;
  const double value = static_cast<double>(number) * fractions[place];
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

MissingTexts::MissingTexts(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    empty_ = empty_ || text.empty();
    if (text.empty()) continue;
    by_first_[static_cast<unsigned char>(text[0])].push_back(text);
    has_numbers_ = has_numbers_ || text.find_first_not_of("-.0123456789") == text.npos;
  }
}

bool MissingTexts::contain(std::string_view text) const {
  if (text.empty()) return empty_;
  const std::vector<std::string>& candidates = by_first_[static_cast<unsigned char>(text[0])];
  return std::ranges::find(candidates, text) != candidates.end();
}

void CsvColumnPart::reserve(std::size_t rows) {
  if (type_ == CsvType::integer) integers_.reserve(rows);
  if (type_ == CsvType::number) numbers_.reserve(rows);
  if (type_ == CsvType::category) texts_.reserve(rows);
}

void CsvColumnPart::become_numbers() {
  type_ = CsvType::number;
  complete_ = !has_negative_zero_;
  numbers_.reserve(integers_.capacity());
  std::ranges::transform(integers_, std::back_inserter(numbers_), as_number);
  integers_.clear();
}

void CsvColumnPart::add(const CsvFields& fields, const std::string& column) {
  for (std::size_t row = 0; row < fields.rows; ++row) {
    if (!missing_->has_numbers()) row = add_usual(fields, row);
    if (row < fields.rows) add_unusual(fields[row], column);
  }
}

/// Adds values from `row` on, up to the first one that is missing or written in an unusual way; returns its row.
std::size_t CsvColumnPart::add_usual(const CsvFields& fields, std::size_t row) {
  if (type_ == CsvType::integer) return add_while(fields, row, integers_, usual_integer_in);
  if (type_ == CsvType::number) return add_while(fields, row, numbers_, usual_number_in);
  return row;
}

template <class Value, class Convert>
std::size_t CsvColumnPart::add_while(const CsvFields& fields, std::size_t row, std::vector<Value>& values,
                                     const Convert& convert) {
  for (; row < fields.rows; ++row) {
    const std::string_view text = fields[row];
    const std::uintptr_t end =
        reinterpret_cast<std::uintptr_t>(text.data()) + text.size() - reinterpret_cast<std::uintptr_t>(file_.data());
    if (end < read_before || end > file_.size()) break;
    const std::optional<Value> value = convert(text);
    if (!value) break;
    values.push_back(*value);
  }
  return row;
}

void CsvColumnPart::add_unusual(std::string_view text, const std::string& column) {
  const bool missing = missing_->contain(text);
  if (type_ == CsvType::integer) {
    if (const auto value = missing ? std::nullopt : integer_in(number_text(text))) {
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
