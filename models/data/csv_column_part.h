#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lockstep/models/data/csv_file.h>

namespace lockstep {

/// The values of a column in consecutive records of a CSV file, of which other threads read others.
class CsvColumnPart {
 public:
  /// Infers the type from the values, unless `given`.
  explicit CsvColumnPart(std::optional<CsvType> given) : type_(given.value_or(CsvType::integer)), given_(given) {}

  /// Throws InputError naming `column` for a value that does not have the given type.
  void add(std::string_view text, bool missing, const std::string& column);
  /// Makes room for the values of `rows` records.
  void reserve(std::int64_t rows);
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

  bool add_integer(std::string_view text);
  void add_unusual(std::string_view text, bool missing, const std::string& column);
  void become_numbers();
  std::int32_t code_of(std::string_view text);

  CsvType type_;
  std::optional<CsvType> given_;
  bool complete_ = true;            ///< no values are dropped
  bool has_negative_zero_ = false;  ///< as an integer it has no sign
  std::vector<std::int64_t> integers_;
  std::vector<float> numbers_;
  std::vector<std::int32_t> texts_;
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> codes_;
};

}  // namespace lockstep
