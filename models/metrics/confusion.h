#pragma once

#include <string>
#include <vector>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/core/defaults.h>

// Metrics of true and false positives. A prediction above a threshold is positive; so is a target other than 0.
// Targets have as many elements as predictions, and an example's weight counts for all of its elements.

namespace lockstep {

/// The share of correct positive predictions: true positives / (true positives + false positives).
struct Precision : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit Precision(double threshold = 0.5);
  /// Of the options of a file.
  static Precision from_config(OptionVisitor& visitor);
};
/// The share of true targets that are found: true positives / (true positives + false negatives).
struct Recall : Metric {
  /// Throws InvalidArgument for a threshold outside [0, 1].
  explicit Recall(double threshold = 0.5);
  /// Of the options of a file.
  static Recall from_config(OptionVisitor& visitor);
};

/// ROC: the rate of true positives over that of false ones. PR: precision over recall.
enum class AUCCurve { roc, pr };

/// AUC's options, by Keras' names.
struct AUCOptions {
  /// At least 2.
  int num_thresholds = 200;
  /// Between 0 and 1, to be used instead, with one below 0 and one above 1 added; empty: evenly spaced ones.
  std::vector<double> thresholds{};
  /// Whose area.
  AUCCurve curve = AUCCurve::roc;
  bool from_logits = false;  ///< the sigmoid is applied to predictions first
  /// Used in logs.
  std::string name = "auc";
};

/// The area under a curve, of which thresholds in [0, 1] give points: trapezoids between them for ROC;
/// for PR true and false positives are interpolated and not their ratio (Davis and Goadrich 2006, section 4), as in
/// Keras. Predictions outside [0, 1] count as 0 or 1.
struct AUC : Metric {
  /// Throws InvalidArgument for fewer than 2 thresholds, and for one outside [0, 1].
  explicit AUC(const AUCOptions& options = {});
  /// Of all defaults: AUC({}).
  explicit AUC(Defaults) : AUC() {}
  /// Of the options of a file.
  static AUC from_config(OptionVisitor& visitor);
};

}  // namespace lockstep
