#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/models/data/csv_file.h>
#include <lockstep/models/data/csv_values.h>
#include <lockstep/models/data/text_codes.h>

namespace lockstep {

/// The texts that mark missing values, indexed by their first character: a value whose first character begins none of
/// these texts is not missing.
class MissingTexts {
 public:
  /// Copies the texts.
  explicit MissingTexts(const std::vector<std::string>& texts);
  /// Whether `text` marks a missing value.
  bool contain(std::string_view text) const {
    if (text.empty()) return empty_;
    const std::vector<std::string>& candidates = by_first_[static_cast<unsigned char>(text[0])];
    return !candidates.empty() && std::ranges::find(candidates, text) != candidates.end();
  }
  /// Whether one of the texts consists of digits, '.' and '-' only and may thus be a number.
  bool has_numbers() const { return has_numbers_; }

 private:
  bool empty_ = false;
  bool has_numbers_ = false;
  std::array<std::vector<std::string>, 256> by_first_;
};

/// The fields of a column in consecutive records.
struct CsvFields {
  const std::string_view* first;  ///< the first record's field
  std::size_t rows;               ///< number of records
  std::size_t stride;             ///< number of fields of each record

  /// The field of a record.
  std::string_view operator[](std::size_t row) const { return first[row * stride]; }
};

/// The values of a column in consecutive records of a CSV file. The records of a file are split into parts, which
/// threads read concurrently.
class CsvColumnPart {
 public:
  /// If `given` is empty, infers the type from the values. Fields that point into the text `file` are converted faster.
  /// The arguments must outlive this.
  CsvColumnPart(std::optional<CsvType> given, std::string_view file, const MissingTexts& missing)
      : type_(given.value_or(CsvType::integer)), given_(given), file_(file), missing_(&missing) {}

  /// Throws InputError naming `column` for a value that does not have the given type.
  void add(const CsvFields& fields, const std::string& column);
  /// Makes room for the values of `rows` records.
  void reserve(std::size_t rows);
  /// The given type, or the first of integer, number and category that suits all values so far.
  CsvType type() const { return type_; }
  /// Whether copy_to can write this part's values into a column of this type. The texts of numbers are not kept, so
  /// numbers cannot be written into a category column, and an integer -0 cannot be written into a number column. The
  /// records must then be read again with the column's type as `given`.
  bool has_values(CsvType of_column) const;
  /// Writes the values to `column.values`, converted to its dtype, from element `row` on. Precondition:
  /// has_values(column.type).
  void copy_to(CsvColumn& column, std::int64_t row) const;
  /// The distinct texts by index, in the order of their first occurrence.
  const std::deque<std::string>& texts() const { return codes_.texts(); }
  /// Replaces each index of a text by new_codes[index].
  void replace_codes(const std::vector<std::int32_t>& new_codes);

 private:
  void add_texts(const CsvFields& fields, std::size_t row);
  std::size_t add_usual(const CsvFields& fields, std::size_t row);
  template <class Value, class Convert>
  std::size_t add_while(const CsvFields& fields, std::size_t row, CsvValues<Value>& values, Convert convert);
  void add_unusual(std::string_view text, const std::string& column);
  void become_numbers();
  void become_categories();
  std::int32_t code_of(std::string_view text) { return missing_->contain(text) ? -1 : codes_.code_of(text); }

  CsvType type_;
  std::optional<CsvType> given_;
  std::string_view file_;
  const MissingTexts* missing_;
  std::size_t missing_values_ = 0;  ///< number of missing values in numbers_
  bool complete_ = true;            ///< false: values were dropped, because another type needs their texts
  bool has_negative_zero_ = false;  ///< whether a -0 was read, which lost its sign as an integer
  CsvValues<std::int64_t> integers_;
  CsvValues<float> numbers_;
  CsvValues<std::int32_t> categories_;  ///< indices of codes_.texts()
  TextCodes codes_;
};

}  // namespace lockstep
