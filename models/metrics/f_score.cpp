#include "lockstep/models/metrics/f_score.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

/// Weights of true positives, false positives and false negatives, for each class.
struct Counts {
  double hits = 0;
  double alarms = 0;
  double misses = 0;

  Counts& operator+=(const Counts& more) {
    hits += more.hits;
    alarms += more.alarms;
    misses += more.misses;
    return *this;
  }
};

constexpr std::size_t numbers_of_class = 3;

std::vector<Counts> counts_from(const Metric::Sums& sums) {
  std::vector<Counts> counts;
  for (std::size_t i = 0; i < sums.size(); i += numbers_of_class) counts.push_back({sums[i], sums[i + 1], sums[i + 2]});
  return counts;
}

/// Whether each prediction of a row is positive.
std::vector<bool> positives(std::span<const double> row, std::optional<double> threshold) {
  const double least = row.empty() ? 0 : *std::ranges::max_element(row);
  std::vector<bool> result;
  for (const double p : row)
    result.push_back(threshold ? p > static_cast<float>(*threshold) : p >= least && std::abs(p) > 1e-9);
  return result;
}

Metric::Sums count(const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights,
                   std::optional<double> threshold) {
  require(y_pred.rank() == 2 && has_shape_of_targets(y_true, y_pred.shape()),
          "an F-score takes targets and predictions (n, classes), got {} and {}", y_true, y_pred);
  const std::vector<double> truths = y_true.to_vector<double>();
  const std::vector<double> predictions = y_pred.to_vector<double>();
  const auto classes = static_cast<std::size_t>(y_pred.dim(1));
  Metric::Sums sums(numbers_of_class * classes);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const std::vector<bool> found = positives(std::span(predictions).subspan(row * classes, classes), threshold);
    for (std::size_t k = 0; k < classes; ++k) {
      const double truth = truths[row * classes + k];
      double* const numbers = sums.data() + numbers_of_class * k;
      numbers[0] += weights[row] * (found[k] ? truth : 0);
      numbers[1] += weights[row] * (found[k] ? 1 - truth : 0);
      numbers[2] += weights[row] * (found[k] ? 0 : truth);
    }
  }
  return sums;
}

double score(const Counts& counts, double beta) {
  const double precision = counts.hits / (counts.hits + counts.alarms + keras_epsilon);
  const double recall = counts.hits / (counts.hits + counts.misses + keras_epsilon);
  return (1 + beta * beta) * precision * recall / (beta * beta * precision + recall + keras_epsilon);
}

double average_score(const Metric::Sums& sums, const FBetaScoreOptions& options) {
  const std::vector<Counts> counts = counts_from(sums);
  Counts all;
  for (const Counts& of_class : counts) all += of_class;
  if (options.average == FScoreAverage::micro) return score(all, options.beta);
  double total = 0;
  for (const Counts& own : counts) {
    const double share = options.average == FScoreAverage::weighted
                             ? (own.hits + own.misses) / (all.hits + all.misses + keras_epsilon)
                             : 1 / static_cast<double>(counts.size());
    total += share * score(own, options.beta);
  }
  return total;
}

Metric::Rule rule(const FBetaScoreOptions& options, const ObjectConfig& config) {
  require(options.beta > 0, "an F-score needs a beta above 0, got {}", options.beta);
  const double threshold = options.threshold.value_or(1);
  require(threshold > 0 && threshold <= 1, "an F-score needs a threshold in (0, 1], got {}", threshold);
  return {.update =
              [options](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) {
                require(options.average != FScoreAverage::none || y_pred.rank() != 2 || y_pred.dim(1) == 1,
                        "an F-score of {} classes has one value only with an average: micro, macro or weighted",
                        y_pred.dim(-1));
                return count(y_true, y_pred, weights, options.threshold);
              },
          .result = [options](const Metric::Sums& sums) { return average_score(sums, options); },
          .direction = Direction::up,
          .config = config};
}

void list_average(OptionVisitor& visitor, FScoreAverage& average) {
  using enum FScoreAverage;
  if (average != none || visitor.has_value("average"))
    visitor.choice("average", average, {{"micro", micro}, {"macro", macro}, {"weighted", weighted}});
}

}  // namespace

void FBetaScoreOptions::describe(OptionVisitor& visitor) {
  list_average(visitor, average);
  visitor.option("beta", beta);
  visitor.option("threshold", threshold);
}

void F1ScoreOptions::describe(OptionVisitor& visitor) {
  list_average(visitor, average);
  visitor.option("threshold", threshold);
}

FBetaScore::FBetaScore(const FBetaScoreOptions& options)
    : Metric("fbeta_score", rule(options, config_of("FBetaScore", options))) {}

F1Score::F1Score(const F1ScoreOptions& options)
    : Metric("f1_score",
             rule({.average = options.average, .threshold = options.threshold}, config_of("F1Score", options))) {}

}  // namespace lockstep
