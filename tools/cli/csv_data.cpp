#include "csv_data.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <lockstep/models/data/csv_file.h>

#include "array_data.h"
#include "nearest_name.h"

namespace lockstep::cli {
namespace {

/// The columns of a file.
struct Table {
  const std::string& source;  ///< --data, for messages
  std::vector<CsvColumn> inputs;
  std::optional<CsvColumn> target{};
};

/// Moves the target's column out of the inputs, if there is one.
void take_target(Table& table, const DataOptions& options, const ModelInput& model) {
  std::vector<std::string> names;
  for (const CsvColumn& column : table.inputs) names.push_back(column.name);
  auto target = std::ranges::find(table.inputs, options.target, &CsvColumn::name);
  const bool named = !options.target.empty() && target != table.inputs.end();
  const bool inputs_alone =
      options.use == DataUse::prediction && model.form.shape == Shape{static_cast<std::int64_t>(names.size())};
  if (inputs_alone && !named) return;
  require(options.target.empty() || named, "--target {}: --data {} has no column of this name{}", options.target,
          table.source, suggestion(options.target, names));
  if (!named) target = table.inputs.end() - 1;
  table.target = std::move(*target);
  table.inputs.erase(target);
}

void check_form(const Table& table, const ModelInput& model) {
  const auto count = static_cast<std::int64_t>(table.inputs.size());
  require(model.form.inputs == 1 && model.form.shape == Shape{count},
          "--data {}: has {} column(s) beside the target '{}', this --model takes {}", table.source, count,
          table.target ? table.target->name : "", taken_by(model));
}

void check_values(const Table& table, const CsvColumn& column) {
  if (column.type == CsvType::category)
    fail<InputError>("--data {}: column '{}' has texts such as '{}'; give it numbers or leave it out", table.source,
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
  require<InputError>(texts == classes,
                      "--data {}: the target '{}' has {} different text(s), this --model takes {} classes; if the file "
                      "does not have every class, write labels from 0 instead of texts",
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
    require<InputError>(
        model.outputs == 1 || is_class,
        "--data {}: the target '{}' has {} in row {} below the header, this --model has the classes 0 to {}",
        table.source, target.name, value, row + 1, classes - 1);
  }
  const bool labels = model.outputs > 1 && target.type == CsvType::number;
  return labels ? Tensor::from(target.values.to_vector<std::int64_t>(), target.values.shape()) : target.values;
}

}  // namespace

TrainingData load_csv(const std::string& file, const DataOptions& options, const ModelInput& model) {
  require(!file.empty(), "--data csv:FILE needs the file");
  Table table{options.source, read_csv(file)};
  take_target(table, options, model);
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
