#include "lockstep/models/training/callbacks/monitor.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include <lockstep/models/training/model.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

Direction direction_of(const Model& model, std::string_view name) {
  if (name.starts_with("val_")) name.remove_prefix(4);
  if (name == "loss" || name.ends_with("_loss")) return Direction::down;
  for (const Metric& metric : model.metrics())
    if (metric.name() == name) return metric.direction();
  return Direction::unknown;
}

/// The names of all values that an epoch's logs can have.
std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names{"loss"};
  if (const std::vector<OutputTraining>& outputs = model.compiled_outputs(); !outputs.empty())
    for (const CompiledOutput& output : compile_outputs(model.network(), outputs))
      if (!output.loss_name.empty()) names.push_back(output.loss_name);
  for (const Metric& metric : model.metrics()) names.push_back(metric.name());
  const std::size_t measured = names.size();
  for (std::size_t i = 0; i < measured; ++i) names.push_back("val_" + names[i]);
  names.insert(names.end(), training_values.begin(), training_values.end());
  return names;
}

}  // namespace

Monitor::Monitor(std::string name, MonitorMode mode, double min_delta)
    : name_(std::move(name)), mode_(mode), min_delta_(std::abs(min_delta)) {}

void Monitor::resolve(const Model& model) {
  if (mode_ != MonitorMode::automatic) return;
  const Direction direction = direction_of(model, name_);
  const std::vector<std::string> names = names_of(model);
  const CustomSteps& steps = model.compiled_steps();  // may return a value of any name
  require(direction != Direction::unknown || steps.train_step || steps.test_step ||
              std::ranges::find(names, name_) != names.end(),
          "a callback monitors '{}', which this model does not have: there are {}; another value needs a mode, min "
          "or max",
          name_, fmt::join(names, ", "));
  require(direction != Direction::unknown,
          "whether '{}' gets better by rising or by falling is not known: give a mode, min or max", name_);
  mode_ = direction == Direction::up ? MonitorMode::max : MonitorMode::min;
}

std::optional<double> Monitor::value_in(const Logs& logs) const {
  const auto found = logs.find(name_);
  if (found != logs.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  log_warning("a callback monitors '{}', which is not there; there are {}", name_, fmt::join(names, ", "));
  return std::nullopt;
}

bool Monitor::is_improvement(double value, std::optional<double> reference) const {
  if (!reference) return true;
  return mode_ == MonitorMode::max ? value - min_delta_ > *reference : value + min_delta_ < *reference;
}

}  // namespace lockstep
