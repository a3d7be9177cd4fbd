#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <lockstep/runtime/data/example.h>

namespace lockstep {

/// Type of the values of a column of a CSV file.
enum class CsvType {
  integer,   ///< whole numbers, i64; none is missing
  number,    ///< f32; a missing value is NaN
  category,  ///< texts, each represented by its index in CsvColumn::categories, i32; -1 if missing
};

/// A column of a CSV file.
struct CsvColumn {
  std::string name;                     ///< name from the header
  CsvType type;                         ///< given or inferred type
  Tensor values;                        ///< (rows)
  std::vector<std::string> categories;  ///< the distinct texts of a category column, sorted by their bytes
};

/// read_csv's options.
struct CsvOptions {
  char separator = ',';  ///< character between two fields
  bool header = true;    ///< the first record has the names of the columns; if false, they are "0", "1", ...
  /// Types of columns, by name. The type of any other column is the first of integer, number and category that suits
  /// all its values. A column with missing values is never an integer column: its whole numbers become f32, which is
  /// exact up to 2^24.
  std::map<std::string, CsvType> types{};
  /// The texts of missing values; by default the texts that pandas uses.
  std::vector<std::string> na_values{"",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
                                     "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
                                     "NaN",  "None",   "n/a",      "nan",  "null"};
};

/// Reads a CSV file (RFC 4180), plain or compressed with gzip, with the types that pandas.read_csv infers, except that
/// numbers are f32, booleans are categories, and whole numbers beyond i64's range become f32. Numbers are decimal, with
/// an optional exponent, or `inf` and `infinity` in upper or lower case; white space around them is ignored. Lines that
/// contain only spaces and tabs are skipped. Throws InputError, which names the file, if the file is missing, damaged
/// or empty, two columns have the same name, or a column of `types` is missing. The message also has the line if a
/// record and the first record have different numbers of fields, or if a quotation mark is not closed. It has the line
/// and the column if a value does not have the given type.
std::vector<CsvColumn> read_csv(const std::filesystem::path& file, const CsvOptions& options = {});

/// Makes examples from a table. x has all columns but `target`, (rows, columns) f32; y is the column `target`, (rows).
/// If `target` is empty, x has all columns, and there is no y. In x, categories are their indices, a missing number is
/// NaN and a missing category -1. Throws InvalidArgument if the table has no column `target` or no column for x, if
/// columns have different lengths, and if values of the target are missing.
Example csv_examples(const std::vector<CsvColumn>& columns, const std::string& target = "");

}  // namespace lockstep
