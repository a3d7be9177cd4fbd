#include "lockstep/models/metrics/confusion.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

/// Calls add(is_true, prediction, weight) for every element.
template <class Add>
void for_each_element(const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights, const Add& add) {
  require(has_shape_of_targets(y_true, y_pred.shape()),
          "positives are counted in targets and predictions of one shape, got {} and {}", y_true, y_pred);
  const std::vector<double> truths = y_true.to_vector<double>();
  const std::vector<double> predictions = y_pred.to_vector<double>();
  for (std::size_t i = 0; i < truths.size(); ++i)
    add(truths[i] != 0, predictions[i], weights[i * weights.size() / truths.size()]);
}

/// Whether the prediction is above the threshold, in f32 as in Keras, since it may be equal to the threshold.
bool is_above(double prediction, double threshold) {
  return static_cast<float>(prediction) > static_cast<float>(threshold);
}

void check_threshold(double threshold) {
  require(threshold >= 0 && threshold <= 1, "a threshold lies in [0, 1], got {}", threshold);
}

/// The weight of the elements with a positive prediction and a positive target, divided by the weight of all elements
/// with a positive prediction (precision) or a positive target (recall).
Metric::Rule share_of_true_positives(const char* class_name, double threshold, bool among_predicted) {
  check_threshold(threshold);
  return {.update =
              [=](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) {
                Metric::Sums sums{0, 0};
                for_each_element(y_true, y_pred, weights, [&](bool is_true, double prediction, double weight) {
                  const bool is_predicted = is_above(prediction, threshold);
                  if (is_true && is_predicted) sums[0] += weight;
                  if (among_predicted ? is_predicted : is_true) sums[1] += weight;
                });
                return sums;
              },
          .result = [](const Metric::Sums& sums) { return divide_no_nan(sums[0], sums[1]); },
          .direction = Direction::up,
          .config = config_of(class_name, ThresholdOptions(threshold))};
}

/// The weight of the elements with this target and this prediction, where true stands for positive.
Metric::Rule count_where(bool target, bool prediction, const char* class_name, double threshold) {
  check_threshold(threshold);
  return {.update =
              [=](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) {
                Metric::Sums sums{0};
                for_each_element(y_true, y_pred, weights, [&](bool is_true, double p, double weight) {
                  if (is_true == target && is_above(p, threshold) == prediction) sums[0] += weight;
                });
                return sums;
              },
          .result = [](const Metric::Sums& sums) { return sums[0]; },
          .config = config_of(class_name, ThresholdOptions(threshold))};
}

/// Index of the last threshold below a prediction. The first threshold is below 0, so that every prediction is above
/// it. Computed in f32 as in Keras, since a prediction may be equal to a threshold.
std::size_t bucket_of(double prediction, int thresholds) {
  const float clipped = std::clamp(static_cast<float>(prediction), 0.0F, 1.0F);
  return static_cast<std::size_t>(std::max(0.0F, std::ceil(clipped * static_cast<float>(thresholds - 1)) - 1));
}

/// Index of the last threshold below a prediction, for sorted thresholds; index 0 is an additional threshold below 0.
std::size_t bucket_of(double prediction, const std::vector<double>& thresholds) {
  const auto is_below = [&](double threshold) { return is_above(prediction, threshold); };
  return static_cast<std::size_t>(std::ranges::count_if(thresholds, is_below));
}

/// Weights of true and false positives for each threshold, from the weights of true and false targets in each bucket.
struct Positives {
  explicit Positives(const Metric::Sums& buckets) {
    const std::size_t count = buckets.size() / 2;
    hits.assign(buckets.begin(), buckets.begin() + static_cast<std::ptrdiff_t>(count));
    alarms.assign(buckets.begin() + static_cast<std::ptrdiff_t>(count), buckets.end());
    for (std::size_t i = count - 1; i-- > 0;) {
      hits[i] += hits[i + 1];
      alarms[i] += alarms[i + 1];
    }
  }
  std::vector<double> hits;    ///< [0]: all true targets
  std::vector<double> alarms;  ///< [0]: all false targets
};

double area_under_roc(const Metric::Sums& buckets) {
  const auto [hits, alarms] = Positives(buckets);
  double area = 0;
  for (std::size_t i = 0; i + 1 < hits.size(); ++i)
    area += divide_no_nan(alarms[i] - alarms[i + 1], alarms[0]) * divide_no_nan(hits[i] + hits[i + 1], 2 * hits[0]);
  return area;
}

/// Area under the precision-recall curve. Between two thresholds the true positives are a linear function of the number
/// p of all positives: slope * p + intercept.
double area_under_pr(const Metric::Sums& buckets) {
  const auto [hits, alarms] = Positives(buckets);
  double area = 0;
  for (std::size_t i = 0; i + 1 < hits.size(); ++i) {
    const double p = hits[i] + alarms[i];
    const double next = hits[i + 1] + alarms[i + 1];
    const double slope = divide_no_nan(hits[i] - hits[i + 1], p - next);
    const double intercept = hits[i + 1] - slope * next;
    const double ratio = p > 0 && next > 0 ? p / next : 1;
    area += divide_no_nan(slope * (hits[i] - hits[i + 1] + intercept * std::log(ratio)), hits[0]);
  }
  return area;
}

Metric::Rule area_under_curve(AUCOptions options) {
  for (const double threshold : options.thresholds)
    require(threshold >= 0 && threshold <= 1, "AUC: a threshold lies in [0, 1], got {}", threshold);
  if (!options.thresholds.empty()) options.num_thresholds = static_cast<int>(options.thresholds.size()) + 2;
  constexpr int most = 1 << 24;  // bucket_of() computes in f32, which holds all whole numbers up to this one
  require(options.num_thresholds >= 2 && options.num_thresholds <= most,
          "AUC needs at least 2 and at most {} thresholds, got {}", most, options.num_thresholds);
  return {.update =
              [options](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) {
                const auto count = static_cast<std::size_t>(options.num_thresholds);
                Metric::Sums buckets(2 * count);
                const Tensor scores = options.from_logits ? sigmoid(y_pred) : y_pred;
                for_each_element(y_true, scores, weights, [&](bool is_true, double prediction, double weight) {
                  const std::size_t bucket = options.thresholds.empty() ? bucket_of(prediction, options.num_thresholds)
                                                                        : bucket_of(prediction, options.thresholds);
                  buckets[(is_true ? 0 : count) + bucket] += weight;
                });
                return buckets;
              },
          .result = options.curve == AUCCurve::roc ? area_under_roc : area_under_pr,
          .direction = Direction::up,
          .config = config_of("AUC", options)};
}

}  // namespace

void AUCOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("summation_method", "interpolation");
  visitor.option("num_thresholds", num_thresholds);
  visitor.choice("curve", curve, {{"ROC", AUCCurve::roc}, {"PR", AUCCurve::pr}});
  visitor.option("from_logits", from_logits);
  visitor.option_if_any("thresholds", thresholds);
}

Precision::Precision(const ThresholdOptions& options)
    : Metric("precision", share_of_true_positives("Precision", options.threshold, true)) {}

Recall::Recall(const ThresholdOptions& options)
    : Metric("recall", share_of_true_positives("Recall", options.threshold, false)) {}

TruePositives::TruePositives(const ThresholdOptions& options)
    : Metric("true_positives", count_where(true, true, "TruePositives", options.threshold)) {}

FalsePositives::FalsePositives(const ThresholdOptions& options)
    : Metric("false_positives", count_where(false, true, "FalsePositives", options.threshold)) {}

FalseNegatives::FalseNegatives(const ThresholdOptions& options)
    : Metric("false_negatives", count_where(true, false, "FalseNegatives", options.threshold)) {}

TrueNegatives::TrueNegatives(const ThresholdOptions& options)
    : Metric("true_negatives", count_where(false, false, "TrueNegatives", options.threshold)) {}

AUC::AUC(const AUCOptions& options) : Metric(options.name, area_under_curve(options)) {}

}  // namespace lockstep
