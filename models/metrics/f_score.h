#pragma once

#include <optional>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/core/defaults.h>

// Weighted harmonic means of precision and recall, for targets and predictions (n, classes). With a threshold,
// predictions above the threshold are positive. Without a threshold, a prediction is positive if no prediction of its
// row is larger and it is not within 1e-9 of 0. A class has the score (1 + beta^2) p r / (beta^2 p + r), with its
// precision p and recall r. The formulas and the epsilon of 1e-7 in their divisors are Keras'.

namespace lockstep {

/// How the scores of several classes are combined. none: for a single class only; Metric::update throws InvalidArgument
/// unless predictions are (n, 1). micro: the score computed from the true positives, false positives and false
/// negatives summed over all classes. macro: the mean of the classes' scores. weighted: the mean of the classes'
/// scores, weighted by support (the sum of a class's targets).
enum class FScoreAverage { none, micro, macro, weighted };

/// FBetaScore's options, with Keras' names.
struct FBetaScoreOptions {
  FScoreAverage average = FScoreAverage::none;  ///< needed for several classes
  double beta = 1;                              ///< weight of recall relative to precision
  std::optional<double> threshold{};            ///< in (0, 1]
  void describe(OptionVisitor& visitor);        ///< writes or reads the options
};

/// F1Score's options, with Keras' names.
struct F1ScoreOptions {
  FScoreAverage average = FScoreAverage::none;  ///< needed for several classes
  std::optional<double> threshold{};            ///< in (0, 1]
  void describe(OptionVisitor& visitor);        ///< writes or reads the options
};

/// The score for any beta.
struct FBetaScore : Metric {
  /// Named "fbeta_score". Throws InvalidArgument unless beta > 0, and for a threshold outside (0, 1].
  explicit FBetaScore(const FBetaScoreOptions& options = {});
  /// Makes `FBetaScore({})` use the default options.
  explicit FBetaScore(Defaults) : FBetaScore() {}
};
/// The score for beta = 1.
struct F1Score : Metric {
  /// Named "f1_score". Throws InvalidArgument for a threshold outside (0, 1].
  explicit F1Score(const F1ScoreOptions& options = {});
  /// Makes `F1Score({})` use the default options.
  explicit F1Score(Defaults) : F1Score() {}
};

}  // namespace lockstep
