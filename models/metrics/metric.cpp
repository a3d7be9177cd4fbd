#include "lockstep/models/metrics/metric.h"

#include <numeric>

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/by_example.h>
#include <lockstep/models/losses/loss_config.h>
#include <lockstep/models/metrics/metric_config.h>
#include <lockstep/models/metrics/rows.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

std::vector<double> weights_of(const Tensor& sample_weight, std::int64_t rows) {
  if (!sample_weight.defined()) return std::vector<double>(static_cast<std::size_t>(rows), 1.0);
  require(sample_weight.elements() == rows, "{} examples need as many sample weights, got {}", rows, sample_weight);
  return sample_weight.to_vector<double>();
}

/// The config of the Keras metric that is the mean of a loss; empty if Keras has no such metric. Keras' metric
/// CosineSimilarity has the opposite sign, and its metric with ignore_class takes another mean.
std::optional<ObjectConfig> metric_config(const Loss& loss) {
  const ObjectConfig* const config = loss.keras_config();
  if (config == nullptr || config->class_name == "CosineSimilarity" || config->options->contains("ignore_class"))
    return {};
  const std::string class_name = config->class_name == "LogCosh" ? "LogCoshError" : config->class_name;
  return metric_classes().is_keras(class_name) ? std::optional(ObjectConfig{class_name, config->options})
                                               : std::nullopt;
}

/// The weights of the steps of a mask (n, time), given the weights of its rows.
std::vector<double> weights_of_steps(const Tensor& mask, const std::vector<double>& weights) {
  std::vector<double> steps = mask.to_vector<double>();
  const auto time = static_cast<std::size_t>(mask.dim(1));
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] *= weights[i / time] / static_cast<double>(time);
  return steps;
}

Metric::Rule rule_of_mean(MeanMetricWrapper::Function values, Direction direction, std::optional<ObjectConfig> config,
                          MaskedSteps masked_steps) {
  return {.update = [values = std::move(values)](const Tensor& y_true, const Tensor& y_pred,
                                                 std::span<const double> weights) -> Metric::Sums {
            require<LogicError>(values != nullptr, "the metric has no function: none was given");
            const std::vector<double> by_row = values(y_true, y_pred);
            require(by_row.size() == weights.size(), "a mean over {} examples or masked time steps got {} values",
                    weights.size(), by_row.size());
            return {std::inner_product(weights.begin(), weights.end(), by_row.begin(), 0.0),
                    std::accumulate(weights.begin(), weights.end(), 0.0)};
          },
          .result = [](const Metric::Sums& sums) { return divide_no_nan(sums[0], sums[1]); },
          .direction = direction,
          .config = std::move(config),
          .masked_steps = masked_steps};
}

MaskedSteps masked_steps_of(const Loss& loss) {
  const ObjectConfig* const config = loss.keras_config();
  const bool by_step = config != nullptr && compares_last_axis(*config) && !config->options->contains("ignore_class");
  return by_step ? MaskedSteps::left_out : MaskedSteps::custom;
}

Metric::Rule rule_of_sum() {
  Metric::Rule rule;
  rule.update = [](const Tensor&, const Tensor& values, std::span<const double> weights) -> Metric::Sums {
    const std::vector<double> sums = sums_of_rows(values.to_vector<double>(), values.dim(0));
    return {std::inner_product(weights.begin(), weights.end(), sums.begin(), 0.0)};
  };
  rule.result = [](const Metric::Sums& sums) { return sums[0]; };
  return rule;
}

}  // namespace

Metric::Metric(std::string name, Rule rule)
    : name_(std::move(name)), rule_(std::move(rule)), is_keras_(metric_classes().is_keras(rule_.config)) {
  check_finite(rule_.config);
}

void Metric::check_rule() const {
  require<LogicError>(rule_.update && rule_.result, "the metric '{}' has no rule: none was given, or it was moved from",
                      name_);
}

Metric::Sums Metric::update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                            const Tensor& mask) const {
  const NoGradientScope not_recorded;
  require(y_pred.defined() && y_pred.rank() >= 1, "{} needs predictions with an axis of examples, got {}", name_,
          y_pred);
  check_rule();
  const std::vector<double> weights = weights_of(sample_weight, y_pred.dim(0));
  if (!mask.defined() || rule_.masked_steps == MaskedSteps::counted)
    return rule_.update(y_true, as_f32(y_pred), weights);
  check_steps(name_, is_keras_ ? &*rule_.config : nullptr, y_true, mask);
  const std::vector<double> by_step = weights_of_steps(mask, weights);
  if (rule_.masked_steps == MaskedSteps::custom) return rule_.update(y_true, as_f32(y_pred), by_step);
  return rule_.update(steps_of(y_true), predicted_steps(as_f32(y_pred)), by_step);
}

double Metric::result(const Sums& sums) const {
  check_rule();
  return sums.empty() ? 0 : rule_.result(sums);
}

void add_sums(Metric::Sums& sums, const Metric::Sums& more) {
  sums.resize(std::max(sums.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

MeanMetricWrapper::MeanMetricWrapper(std::string name, Function values, Direction direction,
                                     std::optional<ObjectConfig> config)
    : Metric(std::move(name),
             rule_of_mean(std::move(values), direction, config,
                          metric_classes().is_keras(config) ? MaskedSteps::left_out : MaskedSteps::custom)) {}

MeanMetricWrapper::MeanMetricWrapper(const Loss& loss)
    : Metric(loss.name(),
             rule_of_mean([loss](const Tensor& y_true,
                                 const Tensor& y_pred) { return loss(y_true, y_pred).to_vector<double>(); },
                          Direction::down, metric_config(loss), masked_steps_of(loss))) {}

Mean::Mean(std::string name)
    : MeanMetricWrapper(std::move(name), rule_of_mean(
                                             [](const Tensor&, const Tensor& values) {
                                               return means_of_rows(values.to_vector<double>(), values.dim(0));
                                             },
                                             Direction::unknown, {}, MaskedSteps::left_out)) {}

Sum::Sum(std::string name) : Metric(std::move(name), rule_of_sum()) {}

}  // namespace lockstep
