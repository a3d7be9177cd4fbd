#pragma once

#include <string>
#include <vector>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/core/defaults.h>

// Metrics of true and false positives. A prediction is positive if it is above a threshold, compared in f32; a target
// is positive if it is not 0. Targets have the shape of the predictions; a last axis of size 1 may be missing or
// additional. Each element is weighted by its example's weight.

namespace lockstep {

/// The option of the metrics below, except AUC.
struct ThresholdOptions {
  ThresholdOptions(double threshold = 0.5) : threshold(threshold) {}  ///< NOLINT: implicit
  double threshold;                                                   ///< in [0, 1]
  /// Writes or reads the option.
  void describe(OptionVisitor& visitor) { visitor.option_or("thresholds", threshold, 0.5); }
};
/// The share of positive predictions that are correct: true positives / (true positives + false positives).
struct Precision : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit Precision(const ThresholdOptions& options = {});
};
/// The share of positive targets whose prediction is positive: true positives / (true positives + false negatives).
struct Recall : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit Recall(const ThresholdOptions& options = {});
};

/// The total weight of the elements with a positive prediction and a positive target.
struct TruePositives : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit TruePositives(const ThresholdOptions& options = {});
};
/// The total weight of the elements with a positive prediction and a negative target.
struct FalsePositives : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit FalsePositives(const ThresholdOptions& options = {});
};
/// The total weight of the elements with a negative prediction and a positive target.
struct FalseNegatives : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit FalseNegatives(const ThresholdOptions& options = {});
};
/// The total weight of the elements with a negative prediction and a negative target.
struct TrueNegatives : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit TrueNegatives(const ThresholdOptions& options = {});
};

/// roc: the true positive rate as a function of the false positive rate. pr: precision as a function of recall.
enum class AUCCurve { roc, pr };

/// AUC's options, with Keras' names.
struct AUCOptions {
  /// Number of evenly spaced thresholds; from 2 to 2^24.
  int num_thresholds = 200;
  /// Thresholds in [0, 1], to which one below 0 and one above 1 are added. If empty, num_thresholds evenly spaced
  /// thresholds are used.
  std::vector<double> thresholds{};
  /// The curve whose area is computed.
  AUCCurve curve = AUCCurve::roc;
  bool from_logits = false;  ///< applies the sigmoid to predictions first
  /// The name in logs.
  std::string name = "auc";
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// The area under a curve with one point for each threshold. As in Keras, the area under ROC is integrated by
/// trapezoids, and PR interpolates the numbers of true and false positives between thresholds instead of their ratio
/// (Davis and Goadrich 2006, section 4). With evenly spaced thresholds, predictions outside [0, 1] count as 0 or 1.
struct AUC : Metric {
  /// Throws InvalidArgument for fewer than 2 or more than 2^24 thresholds, and for a threshold outside [0, 1].
  explicit AUC(const AUCOptions& options = {});
  /// Makes `AUC({})` use the default options.
  explicit AUC(Defaults) : AUC() {}
};

}  // namespace lockstep
