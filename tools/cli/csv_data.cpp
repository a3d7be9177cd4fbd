#include "csv_data.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <lockstep/models/data/csv_file.h>

#include "array_data.h"
#include "nearest_name.h"

namespace lockstep::cli {
namespace {

constexpr const char* inputs_option = "--inputs";

/// The columns of a file that are used.
struct Table {
  const std::string& source;  ///< --data, for messages
  std::vector<CsvColumn> inputs{};
  std::optional<CsvColumn> target{};
};

/// Takes the column of an option out of the file's.
CsvColumn take(std::vector<CsvColumn>& columns, const std::string& name, const char* option,
               const std::string& source) {
  const auto found = std::ranges::find(columns, name, &CsvColumn::name);
  std::vector<std::string> names;
  for (const CsvColumn& column : columns) names.push_back(column.name);
  require(found != columns.end(), "{} {}: --data {} has no {}column of this name{}", option, name, source,
          option == inputs_option ? "other " : "", suggestion(name, names));
  CsvColumn taken = std::move(*found);
  columns.erase(found);
  return taken;
}

/// The columns that the options choose. A file to predict has no target but a named one, which it may lack.
Table table_of(std::vector<CsvColumn> columns, const DataOptions& options) {
  Table table{.source = options.source};
  const bool predicts = options.use == DataUse::prediction;
  const std::string target = options.target.empty() && !predicts ? columns.back().name : options.target;
  const bool has_target = std::ranges::find(columns, target, &CsvColumn::name) != columns.end();
  if (has_target || !predicts) table.target = take(columns, target, "--target", options.source);
  for (const std::string& name : options.inputs)
    table.inputs.push_back(take(columns, name, inputs_option, options.source));
  if (options.inputs.empty()) table.inputs = std::move(columns);
  return table;
}

void check_form(const Table& table, const ModelInput& model) {
  const auto count = static_cast<std::int64_t>(table.inputs.size());
  require(model.form.inputs == 1 && model.form.shape == Shape{count},
          "--data {}: has {} column(s) {}, but the model takes {}; choose with --inputs", table.source, count,
          table.target ? fmt::format("beside the target '{}'", table.target->name)
                       : "as inputs, since predict takes a column as the target only if --target names it",
          taken_by(model));
}

void check_values(const Table& table, const CsvColumn& column) {
  if (column.type == CsvType::category)
    fail<InputError>("--data {}: column '{}' has texts such as '{}'; exclude it with --inputs", table.source,
                     column.name, column.categories.front());
  const std::vector<double> values = column.values.to_vector<double>();
  const auto wrong = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (wrong == values.end()) return;
  fail<InputError>("--data {}: column '{}' has {} value in row {} below the header; fill it in or leave the row out",
                   table.source, column.name, std::isnan(*wrong) ? "no" : "an infinite", wrong - values.begin() + 1);
}

/// Checks that texts are the model's classes.
void check_categories(const Table& table, std::int64_t classes) {
  const auto texts = static_cast<std::int64_t>(table.target->categories.size());
  require<InputError>(
      texts == classes,
      "--data {}: the target '{}' has {} different text(s), but the model has {} classes; if some classes "
      "do not occur in the file, use integer labels from 0",
      table.source, table.target->name, texts, classes);
}

/// The target's values. A model of several outputs takes labels, which may be written as 2.0.
Tensor target_values(const Table& table, const ModelInput& model) {
  const CsvColumn& target = *table.target;
  const std::int64_t classes = model.form.classes;
  if (target.type == CsvType::category) check_categories(table, classes);
  const std::vector<double> values = target.values.to_vector<double>();
  for (std::size_t row = 0; row < values.size(); ++row) {
    const double value = values[row];
    const bool missing = !std::isfinite(value) || (target.type == CsvType::category && value < 0);
    require<InputError>(!missing, "--data {}: the target '{}' has no finite value in row {} below the header",
                        table.source, target.name, row + 1);
    const bool is_class = value >= 0 && value < static_cast<double>(classes) && value == std::floor(value);
    const bool ignored = model.ignored_class && value == static_cast<double>(*model.ignored_class);
    require<InputError>(
        model.outputs == 1 || is_class || ignored,
        "--data {}: the target '{}' has {} in row {} below the header, but the model has the classes 0 to {}{}",
        table.source, target.name, value, row + 1, classes - 1,
        model.ignored_class ? fmt::format(" and ignores {}", *model.ignored_class) : "");
  }
  const bool labels = model.outputs > 1 && target.type == CsvType::number;
  return labels ? Tensor::from(target.values.to_vector<std::int64_t>(), target.values.shape()) : target.values;
}

}  // namespace

TrainingData load_csv(const std::string& file, const DataOptions& options, const ModelInput& model) {
  require(!file.empty(), "--data csv:FILE needs a file name");
  const Table table = table_of(read_csv(file), options);
  check_form(table, model);
  for (const CsvColumn& column : table.inputs) check_values(table, column);
  const bool has_targets = table.target && options.use != DataUse::prediction;
  const Tensor y = has_targets ? target_values(table, model) : Tensor();
  ArrayPart rows{.x = "the table", .examples = Dataset::from_tensors(csv_examples(table.inputs).x(), y)};
  if (has_targets) rows.targets = Dataset::from_tensors(y);
  TrainingData data = array_data(std::move(rows), {}, options, model);
  if (table.target) data.class_names = table.target->categories;
  return data;
}

}  // namespace lockstep::cli
