#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lockstep/models/data/csv_file.h>

namespace lockstep {

/// The texts of missing values, by their first characters: most values begin with another one.
class MissingTexts {
 public:
  explicit MissingTexts(const std::vector<std::string>& texts);
  bool contain(std::string_view text) const;
  /// Whether a text may be a number without an exponent.
  bool has_numbers() const { return has_numbers_; }

 private:
  bool empty_ = false;
  bool has_numbers_ = false;
  std::array<std::vector<std::string>, 256> by_first_;
};

/// The fields of a column in consecutive records.
struct CsvFields {
  const std::string_view* first;
  std::size_t rows;
  std::size_t stride;  ///< fields of a record

  std::string_view operator[](std::size_t row) const { return first[row * stride]; }
};

/// The values of a column in consecutive records of a CSV file, of which other threads read others.
class CsvColumnPart {
 public:
  /// Infers the type from the values, unless `given`. Fields within `file` are converted faster. The arguments must
  /// outlive this.
  CsvColumnPart(std::optional<CsvType> given, std::string_view file, const MissingTexts& missing)
      : type_(given.value_or(CsvType::integer)), given_(given), file_(file), missing_(&missing) {}

  /// Throws InputError naming `column` for a value that does not have the given type.
  void add(const CsvFields& fields, const std::string& column);
  /// Makes room for the values of `rows` records.
  void reserve(std::size_t rows);
  /// The given type, or the first one that suits all values so far.
  CsvType type() const { return type_; }
  /// Whether the values are there: those before the first text of a column are dropped, since a number does not say how
  /// it was written.
  bool has_values(CsvType of_column) const;
  /// Writes the values as `column.values` has them, from element `row` on. Precondition: has_values(column.type).
  void copy_to(CsvColumn& column, std::int64_t row) const;
  /// The different texts, in the order in which they are found, and their indices.
  const auto& codes() const { return codes_; }
  /// Replaces each index of a text by new_codes[index].
  void replace_codes(const std::vector<std::int32_t>& new_codes);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::size_t add_usual(const CsvFields& fields, std::size_t row);
  template <class Value, class Convert>
  std::size_t add_while(const CsvFields& fields, std::size_t row, std::vector<Value>& values, const Convert& convert);
  void add_unusual(std::string_view text, const std::string& column);
  void become_numbers();
  std::int32_t code_of(std::string_view text);

  CsvType type_;
  std::optional<CsvType> given_;
  std::string_view file_;
  const MissingTexts* missing_;
  bool complete_ = true;            ///< no values are dropped
  bool has_negative_zero_ = false;  ///< as an integer it has no sign
  std::vector<std::int64_t> integers_;
  std::vector<float> numbers_;
  std::vector<std::int32_t> texts_;
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> codes_;
};

}  // namespace lockstep
