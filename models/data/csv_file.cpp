#include "lockstep/models/data/csv_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/models/files/csv.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// A number's text without spaces around it and without a plus sign.
std::string_view number_text(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text = text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  text = number_text(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<float> number_in(std::string_view text) {
  text = number_text(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);  // too small or too large: 0 or infinity
  return static_cast<float>(value);
}

/// The types that are possible for a column, given its values so far.
struct Inference {
  bool integers = true;
  bool numbers = true;

  void see(const std::string& text, bool missing) {
    integers = integers && !missing && integer_in(text);
    numbers = numbers && (missing || integers || number_in(text));
  }
  CsvType type() const {
    if (integers) return CsvType::integer;
    return numbers ? CsvType::number : CsvType::category;
  }
};

const char* text_of(CsvType type) { return type == CsvType::integer ? "whole number" : "number"; }

/// Writes the values of a column, record by record.
class ColumnWriter {
 public:
  ColumnWriter(CsvColumn& column, std::int64_t rows) : column_(column) {
    const DType dtype = column.type == CsvType::integer  ? DType::i64
                        : column.type == CsvType::number ? DType::f32
                                                         : DType::i32;
    column.values = Tensor::empty({rows}, dtype);
  }

  void add(const std::string& text, bool missing) {
    const std::int64_t row = row_++;
    if (column_.type == CsvType::integer) {
      const auto value = missing ? std::nullopt : integer_in(text);
      require_value(value.has_value(), text, missing);
      column_.values.data<std::int64_t>()[row] = *value;
    } else if (column_.type == CsvType::number) {
      const auto value = missing ? std::numeric_limits<float>::quiet_NaN() : number_in(text);
      require_value(value.has_value(), text, missing);
      column_.values.data<float>()[row] = *value;
    } else {
      column_.values.data<std::int32_t>()[row] = missing ? -1 : code_of(text);
    }
  }

  /// Sorts the categories.
  void finish() {
    std::vector<std::int32_t> sorted(codes_.size());
    for (const auto& [text, code] : codes_) column_.categories.push_back(text);
    std::ranges::sort(column_.categories);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      sorted[static_cast<std::size_t>(codes_.at(column_.categories[i]))] = static_cast<std::int32_t>(i);
    if (column_.type != CsvType::category) return;
    for (std::int32_t& code : column_.values.span<std::int32_t>())
      if (code >= 0) code = sorted[static_cast<std::size_t>(code)];
  }

 private:
  void require_value(bool given, const std::string& text, bool missing) const {
    if (given) return;
    if (missing) fail<InputError>("column {:?} has no value, which must be a whole number", column_.name);
    fail<InputError>("column {:?}: {:?} is not a {}", column_.name, text, text_of(column_.type));
  }

  /// A number for each distinct text, in order of first occurrence.
  std::int32_t code_of(const std::string& text) {
    return codes_.emplace(text, static_cast<std::int32_t>(codes_.size())).first->second;
  }

  CsvColumn& column_;
  std::int64_t row_ = 0;
  std::unordered_map<std::string, std::int32_t> codes_;
};

/// The content of a CSV file, which is read twice: to infer the types and to convert the values.
class CsvText {
 public:
  CsvText(std::string_view text, const CsvOptions& options) : text_(text), options_(options) {
    CsvRecords records(text_, options_.separator);
    require<InputError>(records.next(names_), "is empty");
    for (std::size_t i = 0; !options_.header && i < names_.size(); ++i) names_[i] = fmt::format("{}", i);
    std::set<std::string> different;
    for (const std::string& name : names_)
      require<InputError>(different.insert(name).second, "two columns have the name {:?}", name);
    for (const auto& [name, type] : options_.types)
      require<InputError>(different.contains(name), "has no column {:?}", name);
  }

  std::vector<CsvColumn> columns() const {
    std::vector<Inference> seen(names_.size());
    std::int64_t rows = 0;
    for_each_record([&](const std::vector<std::string>& fields) {
      for (std::size_t i = 0; i < fields.size(); ++i) seen[i].see(fields[i], is_missing(fields[i]));
      ++rows;
    });
    std::vector<CsvColumn> columns;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto given = options_.types.find(names_[i]);
      columns.push_back({names_[i], given == options_.types.end() ? seen[i].type() : given->second, {}, {}});
    }
    std::vector<ColumnWriter> writers;
    for (CsvColumn& column : columns) writers.emplace_back(column, rows);
    for_each_record([&](const std::vector<std::string>& fields) {
      for (std::size_t i = 0; i < fields.size(); ++i) writers[i].add(fields[i], is_missing(fields[i]));
    });
    for (ColumnWriter& writer : writers) writer.finish();
    return columns;
  }

 private:
  bool is_missing(const std::string& text) const {
    return std::ranges::find(options_.na_values, text) != options_.na_values.end();
  }

  template <class Visit>
  void for_each_record(const Visit& visit) const {
    CsvRecords records(text_, options_.separator);
    std::vector<std::string> fields;
    if (options_.header) records.next(fields);
    while (records.next(fields)) try {
        require<InputError>(fields.size() == names_.size(), "has {} field(s), the first record has {}", fields.size(),
                            names_.size());
        visit(fields);
      } catch (Error& error) {
        error.add_context(fmt::format("line {}", records.line()));
        throw;
      }
  }

  std::string_view text_;
  const CsvOptions& options_;
  std::vector<std::string> names_;
};

/// Copies a column as f32, with a distance of `stride` elements between values.
void copy_column(const Tensor& values, float* to, std::int64_t stride) {
  visit_dtype(values.dtype(), [&]<class T>() {
    for (const T value : values.span<const T>()) {
      *to = static_cast<float>(value);
      to += stride;
    }
  });
}

}  // namespace

std::vector<CsvColumn> read_csv(const std::filesystem::path& file, const CsvOptions& options) {
  const std::vector<std::byte> bytes = ByteReader(file).read_all();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  try {
    return CsvText(text, options).columns();
  } catch (Error& error) {
    error.add_context(file.string());
    throw;
  }
}

Example csv_examples(const std::vector<CsvColumn>& columns, const std::string& target) {
  const auto y = std::ranges::find(columns, target, &CsvColumn::name);
  require(target.empty() || y != columns.end(), "there is no column {:?}", target);
  const auto count = static_cast<std::int64_t>(columns.size()) - (target.empty() ? 0 : 1);
  require(count >= 1, "there is no column for x");
  Example examples{{Tensor::empty({columns.front().values.dim(0), count})}};
  float* to = examples.x().data<float>();
  for (const CsvColumn& column : columns)
    if (target.empty() || column.name != target) copy_column(column.values, to++, count);
  if (target.empty()) return examples;
  const std::vector<float> values = y->type == CsvType::integer ? std::vector<float>() : y->values.to_vector<float>();
  for (std::size_t row = 0; row < values.size(); ++row)
    require(!std::isnan(values[row]) && (y->type == CsvType::number || values[row] >= 0),
            "column {:?} of the targets has no value in row {}", target, row);
  examples.targets = {y->values};
  return examples;
}

}  // namespace lockstep
