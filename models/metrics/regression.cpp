#include "lockstep/models/metrics/regression.h"

#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

Metric::Rule root_mean_squared_error() {
  return {.update = [](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) -> Metric::Sums {
            const std::vector<double> errors = MeanSquaredError()(y_true, y_pred).to_vector<double>();
            return {std::inner_product(weights.begin(), weights.end(), errors.begin(), 0.0),
                    std::accumulate(weights.begin(), weights.end(), 0.0)};
          },
          .result = [](const Metric::Sums& sums) { return std::sqrt(divide_no_nan(sums[0], sums[1])); },
          .direction = Direction::down,
          .config = ObjectConfig{"RootMeanSquaredError"}};
}

std::vector<double> cosines(const Loss& loss, const Tensor& y_true, const Tensor& y_pred) {
  std::vector<double> values = loss(y_true, y_pred).to_vector<double>();
  for (double& value : values) value = -value;
  return values;
}

/// Weighted sums over the targets of an output.
struct Targets {
  double weight = 0;
  double sum = 0;
  double squares = 0;
  double errors = 0;  ///< squared errors of the predictions

  double variation() const { return squares - sum * sum / weight; }
  double score() const {
    const double score = 1 - errors / variation();
    return std::isinf(score) ? 0 : score;
  }
};

constexpr std::size_t numbers_of_output = 4;

/// The number of targets, followed by the members of Targets for each output.
Metric::Sums sums_of_outputs(const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights,
                             R2Aggregation aggregation) {
  require(y_pred.rank() == 2 && has_shape_of_targets(y_true, y_pred.shape()),
          "R2Score takes targets and predictions (n, outputs), got {} and {}", y_true, y_pred);
  require(aggregation != R2Aggregation::none || y_pred.dim(1) == 1,
          "R2Score of {} outputs has one value only with a class_aggregation: uniform_average or "
          "variance_weighted_average",
          y_pred.dim(1));
  const std::vector<double> truths = y_true.to_vector<double>();
  const std::vector<double> predictions = y_pred.to_vector<double>();
  const auto outputs = static_cast<std::size_t>(y_pred.dim(1));
  Metric::Sums sums(1 + numbers_of_output * outputs);
  sums[0] = static_cast<double>(truths.size());
  for (std::size_t i = 0; i < truths.size(); ++i) {
    const double weight = weights[i / outputs];
    const double error = truths[i] - predictions[i];
    double* const numbers = sums.data() + 1 + numbers_of_output * (i % outputs);
    numbers[0] += weight;
    numbers[1] += weight * truths[i];
    numbers[2] += weight * truths[i] * truths[i];
    numbers[3] += weight * error * error;
  }
  return sums;
}

double r2_score(const Metric::Sums& sums, const R2ScoreOptions& options) {
  double total = 0;
  double shares = 0;
  for (std::size_t i = 1; i < sums.size(); i += numbers_of_output) {
    const Targets output{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
    const bool by_variance = options.class_aggregation == R2Aggregation::variance_weighted_average;
    const double share = by_variance ? output.variation() : 1;
    total += share * output.score();
    shares += share;
  }
  const double score = total / shares;
  const double freedom = sums[0] - options.num_regressors - 1;
  if (options.num_regressors == 0 || freedom <= 0) return score;
  return 1 - (1 - score) * (sums[0] - 1) / freedom;
}

Metric::Rule rule(const R2ScoreOptions& options) {
  require(options.num_regressors >= 0, "R2Score needs num_regressors of at least 0, got {}", options.num_regressors);
  return {
      .update = [aggregation = options.class_aggregation](
                    const Tensor& y_true, const Tensor& y_pred,
                    std::span<const double> weights) { return sums_of_outputs(y_true, y_pred, weights, aggregation); },
      .result = [options](const Metric::Sums& sums) { return r2_score(sums, options); },
      .direction = Direction::up,
      .config = config_of("R2Score", options)};
}

}  // namespace

void R2ScoreOptions::describe(OptionVisitor& visitor) {
  using enum R2Aggregation;
  if (visitor.is_null("class_aggregation")) class_aggregation = none;
  if (class_aggregation == none)
    visitor.fixed_null("class_aggregation");
  else
    visitor.choice("class_aggregation", class_aggregation,
                   {{"uniform_average", uniform_average}, {"variance_weighted_average", variance_weighted_average}});
  visitor.option("num_regressors", num_regressors);
}

RootMeanSquaredError::RootMeanSquaredError() : Metric("root_mean_squared_error", root_mean_squared_error()) {}

CosineSimilarityMetric::CosineSimilarityMetric(const CosineSimilarityOptions& options)
    : MeanMetricWrapper(
          "cosine_similarity",
          [loss = CosineSimilarity(options)](const Tensor& y_true, const Tensor& y_pred) {
            return cosines(loss, y_true, y_pred);
          },
          Direction::up, config_of("CosineSimilarity", options)) {}

R2Score::R2Score(const R2ScoreOptions& options) : Metric("r2_score", rule(options)) {}

}  // namespace lockstep
