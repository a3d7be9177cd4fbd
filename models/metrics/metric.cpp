#include "lockstep/models/metrics/metric.h"

#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/by_example.h>
#include <lockstep/models/metrics/rows.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

std::vector<double> weights_of(const Tensor& sample_weight, std::int64_t rows) {
  if (!sample_weight.defined()) return std::vector<double>(static_cast<std::size_t>(rows), 1.0);
  require(sample_weight.elements() == rows, "{} examples need as many sample weights, got {}", rows, sample_weight);
  return sample_weight.to_vector<double>();
}

/// The config of Keras' metric that is the mean of a loss; empty where Keras has none. Its CosineSimilarity has the
/// opposite sign, and its metric with ignore_class another mean.
std::optional<ObjectConfig> metric_config(const Loss& loss) {
  static const std::set<std::string> only_losses{
      "BinaryFocalCrossentropy", "CategoricalFocalCrossentropy", "CosineSimilarity", "Dice", "Huber", "Tversky"};
  std::optional<ObjectConfig> config = loss.config();
  if (!config || only_losses.contains(config->class_name) || config->options->contains("ignore_class")) return {};
  if (config->class_name == "LogCosh") config->class_name = "LogCoshError";
  return config;
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

void Metric::check_rule() const {
  require<LogicError>(rule_.update && rule_.result, "the metric '{}' has no rule: none was given, or it was moved from",
                      name_);
}

Metric::Sums Metric::update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  const NoGradientScope not_recorded;
  require(y_pred.defined() && y_pred.rank() >= 1, "{} needs predictions with an axis of examples, got {}", name_,
          y_pred);
  check_rule();
  return rule_.update(y_true, as_f32(y_pred), weights_of(sample_weight, y_pred.dim(0)));
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
    : Metric(std::move(name), {.update = [values = std::move(values)](const Tensor& y_true, const Tensor& y_pred,
                                                                      std::span<const double> weights) -> Sums {
                                 require<LogicError>(values != nullptr, "the metric has no function: none was given");
                                 const std::vector<double> by_row = values(y_true, y_pred);
                                 require(by_row.size() == weights.size(), "a mean over {} examples got {} values",
                                         weights.size(), by_row.size());
                                 return {std::inner_product(weights.begin(), weights.end(), by_row.begin(), 0.0),
                                         std::accumulate(weights.begin(), weights.end(), 0.0)};
                               },
                               .result = [](const Sums& sums) { return divide_no_nan(sums[0], sums[1]); },
                               .direction = direction,
                               .config = std::move(config)}) {}

MeanMetricWrapper::MeanMetricWrapper(const Loss& loss)
    : MeanMetricWrapper(
          loss.name(),
          [loss](const Tensor& y_true, const Tensor& y_pred) { return loss(y_true, y_pred).to_vector<double>(); },
          Direction::down, metric_config(loss)) {}

Mean::Mean(std::string name)
    : MeanMetricWrapper(std::move(name), [](const Tensor&, const Tensor& values) {
        return means_of_rows(values.to_vector<double>(), values.dim(0));
      }) {}

Sum::Sum(std::string name) : Metric(std::move(name), rule_of_sum()) {}

}  // namespace lockstep
