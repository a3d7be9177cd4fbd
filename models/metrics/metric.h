#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/models/losses/loss.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The direction in which a value improves; unknown if the metric does not define it.
enum class Direction { unknown, down, up };

/// How a metric treats the masked time steps of an output.
enum class MaskedSteps {
  counted,   ///< counts them like steps that are not masked
  left_out,  ///< leaves them out; each time step is a row
  custom,    ///< like left_out, but `update` gets the whole output and the weight of each time step
};

/// A Keras metric: a function of sums over examples. The sums of all batches and replicas are added first, so the
/// result is exact for uneven and empty batches. A metric has no state; see MetricTracker for custom loops.
class Metric {
 public:
  /// One or more sums over examples.
  using Sums = std::vector<double>;
  /// A metric's functions and properties.
  struct Rule {
    /// The sums over the rows of a batch, row i weighted by weights[i]. y_true may be undefined. With
    /// MaskedSteps::custom and a mask, `weights` instead has the weight of each time step of each row, in row-major
    /// order.
    std::function<Sums(const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights)> update;
    /// The metric's value for the given sums.
    std::function<double(const Sums&)> result;
    /// The direction in which the value improves.
    Direction direction = Direction::unknown;
    /// The class and the options that files contain, for a Keras class or a registered class
    /// (register_keras_serializable). For a metric without a config, files contain only the name.
    std::optional<ObjectConfig> config{};
    /// How `update` treats masked time steps.
    MaskedSteps masked_steps = MaskedSteps::counted;
  };
  /// `name` is used in logs. Throws InvalidArgument for a config with a number that is infinite or NaN.
  Metric(std::string name, Rule rule);

  /// The name in logs.
  const std::string& name() const { return name_; }
  /// The direction in which the value improves.
  Direction direction() const { return rule_.direction; }
  /// The class and the options in files; may be empty for a custom metric.
  const std::optional<ObjectConfig>& config() const { return rule_.config; }
  /// Keras' get_config, as JSON. Throws Unsupported for a metric without a config.
  std::string get_config() const;
  /// A copy with another name.
  Metric with_name(std::string name) const { return {std::move(name), rule_}; }
  /// The sums of a batch of n rows. `sample_weight` is (n) or (n, 1), or undefined for weights of 1. `mask` is the mask
  /// of y_pred, bool (n, time), or undefined. As in Keras, means over examples leave masked steps out, and other
  /// metrics count them. Not recorded by tapes. Throws InvalidArgument for shapes that do not match each other, and for
  /// shapes or labels that the metric does not take. If the metric leaves masked steps out, throws Unsupported for a
  /// mask that is not (n, time) and for an `axis` other than the last one. Throws LogicError if the rule has no
  /// functions.
  Sums update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
              const Tensor& mask = {}) const;
  /// The metric's value for the given sums; 0 for empty sums, as in Keras.
  double result(const Sums& sums) const;

 private:
  /// Throws LogicError if the rule has no functions.
  void check_rule() const;

  std::string name_;
  Rule rule_;
  bool is_keras_;
};

/// Adds the sums of more examples; empty sums count as zeros.
void add_sums(Metric::Sums& sums, const Metric::Sums& more);

/// a / b; 0 where b is 0, as in Keras.
inline double divide_no_nan(double a, double b) { return b == 0 ? 0 : a / b; }

/// The weighted mean of one value per example: sum of weight * value / sum of weights. For an output with a mask (n,
/// time), the mean is over the steps that are not masked, and the weight of a step is its row's weight / time, as in
/// Keras.
struct MeanMetricWrapper : Metric {
  /// (y_true, y_pred) -> one value per row. For an output with a mask, the function of a custom metric returns one
  /// value per time step of each row.
  using Function = std::function<std::vector<double>(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is used in logs.
  MeanMetricWrapper(std::string name, Function values, Direction direction = Direction::unknown,
                    std::optional<ObjectConfig> config = {});
  /// The mean of a loss, under the loss's name, e.g. MeanMetricWrapper(MeanSquaredError()) for Keras' metric
  /// MeanSquaredError.
  explicit MeanMetricWrapper(const Loss& loss);

 protected:
  /// A mean with a given rule.
  MeanMetricWrapper(std::string name, Rule rule) : Metric(std::move(name), std::move(rule)) {}
};

/// Averages each example's elements of y_pred (n, ...), then takes the weighted mean over the examples. Ignores y_true.
struct Mean : MeanMetricWrapper {
  /// `name` is used in logs.
  explicit Mean(std::string name = "mean");
  /// Makes `Mean({})` use the default name.
  explicit Mean(Defaults) : Mean() {}
};
/// The sum of all elements of y_pred (n, ...), each times its example's weight. Ignores y_true.
struct Sum : Metric {
  /// `name` is used in logs.
  explicit Sum(std::string name = "sum");
  /// Makes `Sum({})` use the default name.
  explicit Sum(Defaults) : Sum() {}
};

}  // namespace lockstep
