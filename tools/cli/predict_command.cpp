#include "predict_command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <lockstep/runtime/core/atomic_file.h>

#include "output_file.h"
#include "trained_model.h"

namespace lockstep::cli {
namespace {

/// A column for each unit of each output, named after the output's layer, and a row for each example.
std::string as_csv(const std::vector<Tensor>& outputs, const std::vector<std::string>& names) {
  std::vector<std::string> columns;
  std::vector<std::int64_t> units;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    units.push_back(outputs[i].elements() / outputs[i].dim(0));
    for (std::int64_t unit = 0; unit < units[i]; ++unit) columns.push_back(fmt::format("{}_{}", names[i], unit));
  }
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (std::int64_t row = 0; row < outputs.front().dim(0); ++row) {
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
  require_writable(options.output, "--output");
  TrainedModel trained = make_trained_model(options.trained, Compiled::not_needed);
  const std::vector<Tensor> outputs = trained.model.predict_all(trained.examples);
  if (!trained.model.strategy().is_chief()) return 0;
  const std::string text = as_csv(outputs, trained.model.network().output_names());
  write_file_atomically(options.output, std::as_bytes(std::span(text)));
  fmt::print(stderr, "{}: predictions of {} for {} examples of {}{}{}\n", options.output, options.trained.model,
             trained.count, trained.data, trained.preparation.empty() ? "" : ", ", trained.preparation);
  return 0;
}

}  // namespace lockstep::cli
