#include "predict_command.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/models/files/csv.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/logging.h>

#include "output_file.h"
#include "trained_model.h"

namespace lockstep::cli {
namespace {

/// Whether a layer with this Keras config gives probabilities.
bool gives_probabilities(std::string_view class_name, const nlohmann::json& config) {
  if (class_name == "TimeDistributed") {
    const nlohmann::json& inner = config.at("layer");
    return gives_probabilities(inner.at("class_name").get<std::string>(), inner.at("config"));
  }
  const nlohmann::json activation = config.value("activation", nlohmann::json());
  return class_name == "Softmax" || activation == "softmax" || activation == "sigmoid";
}

/// Whether the network's output is probabilities rather than logits, for a network with one output.
bool gives_probabilities(const Network& network) {
  const int output = network.outputs().front();
  if (output < 0) return false;  // it is an input
  const GraphCall& last = network.calls()[static_cast<std::size_t>(output)];
  const Layer& layer = network.layers()[static_cast<std::size_t>(last.layer)];
  return gives_probabilities(layer.impl().class_name(), nlohmann::json::parse(layer.get_config()));
}

/// The most probable class of an example.
struct Prediction {
  std::size_t label;
  float probability;
};

/// Picks the class of the largest of an example's `values`, which are ordered like its `probabilities`. A binary model
/// may have one value, for the second class.
Prediction predicted(std::span<const float> values, std::span<const float> probabilities) {
  if (const float second = probabilities.front(); probabilities.size() == 1)
    return second > 0.5F ? Prediction{1, second} : Prediction{0, 1 - second};
  const auto label = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  return {label, probabilities[label]};
}

/// Whether the model's only output has `units` numbers in a row, one for each of the data's named classes.
bool predicts_named_classes(const TrainedModel& trained, std::size_t units) {
  const std::size_t classes = trained.class_names.size();
  const bool one_output = trained.model.network().outputs().size() == 1;
  return classes > 0 && one_output && (units == classes || (units == 1 && classes == 2));
}

/// The columns before the model's outputs, as CSV text: the header, then a row for each row of `output`. Its name and
/// its predicted class with the probability, if the data have named rows and classes.
std::vector<std::string> leading_columns(const TrainedModel& trained, const Tensor& output) {
  std::vector<std::string> rows(static_cast<std::size_t>(output.dim(0)) + 1);
  if (!trained.rows.names.empty()) {
    rows[0] += trained.rows.column + ",";
    for (std::size_t i = 1; i < rows.size(); ++i) rows[i] += csv_field(trained.rows.names[i - 1]) + ",";
  }
  const auto units = static_cast<std::size_t>(output.elements() / output.dim(0));
  if (!predicts_named_classes(trained, units)) return rows;
  const Tensor values = flatten(output);
  const Tensor probabilities = gives_probabilities(trained.model.network()) ? values
                               : units == 1                                 ? sigmoid(values)
                                                                            : softmax(values);
  const auto row_of = [units](const Tensor& x, std::size_t row) {
    return x.span<const float>().subspan(row * units, units);
  };
  rows[0] += "class,probability,";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Prediction prediction = predicted(row_of(values, i - 1), row_of(probabilities, i - 1));
    rows[i] += fmt::format("{},{:.4f},", csv_field(trained.class_names[prediction.label]), prediction.probability);
  }
  return rows;
}

/// CSV with a row for each row of the outputs: the leading columns, then one for each unit of each output, named after
/// the output's layer.
std::string as_csv(const std::vector<Tensor>& outputs, const TrainedModel& trained) {
  const std::vector<std::string> leading = leading_columns(trained, outputs.front());
  const std::vector<std::string> names = trained.model.network().output_names();
  std::vector<std::string> columns;
  std::vector<std::int64_t> units;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    units.push_back(outputs[i].elements() / outputs[i].dim(0));
    for (std::int64_t unit = 0; unit < units[i]; ++unit) columns.push_back(fmt::format("{}_{}", names[i], unit));
  }
  std::string text = fmt::format("{}{}\n", leading[0], fmt::join(columns, ","));
  for (std::int64_t row = 0; row < outputs.front().dim(0); ++row) {
    text += leading[static_cast<std::size_t>(row) + 1];
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const float* const first = outputs[i].data<float>() + row * units[i];
      fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", fmt::join(first, first + units[i], ","));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

int run(const PredictOptions& options) {
  options.trained.check();
  require(options.output.ends_with(".csv"), "--output {}: the name must end in .csv", options.output);
  const Strategy strategy = options.trained.replicas.make_strategy();
  on_chief(strategy, [&] {
    require_replaceable(options.output, "--output");
    require_no_data(options.output, "--output", options.trained.data.source);
  });
  TrainedModel trained = make_trained_model(options.trained, strategy, Compiled::not_needed);
  std::vector<Tensor> outputs = trained.model.predict_all(trained.examples);
  if (!trained.model.strategy().is_chief()) return 0;
  if (trained.each_step)
    for (Tensor& output : outputs) output = output.view({output.dim(0) * output.dim(1), output.dim(2)});
  const std::string text = as_csv(outputs, trained);
  write_file_atomically(options.output, std::as_bytes(std::span(text)));
  print_message("{}: predictions of {} for {} examples of {}{}{}\n", options.output, options.trained.model,
                trained.count, trained.data, trained.preparation.empty() ? "" : ", ", trained.preparation);
  return 0;
}

}  // namespace lockstep::cli
