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

/// Which way a value gets better; unknown where the metric does not say.
enum class Direction { unknown, down, up };

/// A value that is measured over examples, in Keras' words: the result of a few sums. Each replica takes the sums of
/// its own examples, and they are added over batches and replicas before the result is taken, so that it is exact for
/// uneven and empty batches. A metric holds no state; see MetricTracker for loops of one's own.
class Metric {
 public:
  /// One number or more, which add up over batches and replicas.
  using Sums = std::vector<double>;
  /// How a metric's sums are taken, and what they mean.
  struct Rule {
    /// The sums over the rows of a batch, each counted `weights[row]` times. y_true may be undefined.
    std::function<Sums(const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights)> update;
    /// The value, given sums that have been added up.
    std::function<double(const Sums&)> result;
    /// Which way the value gets better.
    Direction direction = Direction::unknown;
    /// Keras' metric that it is, for files.
    std::optional<ObjectConfig> config{};
  };
  /// `name` is what logs call it.
  Metric(std::string name, Rule rule) : name_(std::move(name)), rule_(std::move(rule)) {}

  /// As given.
  const std::string& name() const { return name_; }
  /// Which way the value gets better.
  Direction direction() const { return rule_.direction; }
  /// Keras' metric that it is; none for one of a program's own.
  const std::optional<ObjectConfig>& config() const { return rule_.config; }
  /// Keras' get_config, as JSON. Throws Unsupported for one of a program's own.
  std::string get_config() const;
  /// The same under another name.
  Metric with_name(std::string name) const { return {std::move(name), rule_}; }
  /// The sums of a batch of n rows; `sample_weight` (n) or (n, 1), or undefined for weights of 1. Records no gradient.
  /// Throws InvalidArgument for tensors that do not fit each other or the metric.
  Sums update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;
  /// The value, given sums that have been added up; 0 for none at all, as in Keras.
  double result(const Sums& sums) const;

 private:
  /// Throws LogicError when it has none.
  void check_rule() const;

  std::string name_;
  Rule rule_;
};

/// Adds the sums of more examples; no sums stand for zeros.
void add_sums(Metric::Sums& sums, const Metric::Sums& more);

/// a / b; 0 where b is 0, as in Keras.
inline double divide_no_nan(double a, double b) { return b == 0 ? 0 : a / b; }

/// The weighted mean of one value for each example: sum of weight * value / sum of weights.
struct MeanMetricWrapper : Metric {
  /// (y_true, y_pred) -> a value for each row.
  using Function = std::function<std::vector<double>(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is what logs call it.
  MeanMetricWrapper(std::string name, Function values, Direction direction = Direction::unknown,
                    std::optional<ObjectConfig> config = {});
  /// A loss under its own name: Keras' metric MeanSquaredError is MeanMetricWrapper(MeanSquaredError()).
  explicit MeanMetricWrapper(const Loss& loss);
};

/// The weighted mean over the examples of the values y_pred (n, ...), an example's being the mean over its elements.
struct Mean : MeanMetricWrapper {
  /// `name` is what logs call it.
  explicit Mean(std::string name = "mean");
  /// Of all defaults: Mean({}).
  explicit Mean(Defaults) : Mean() {}
};
/// The weighted sum of the values y_pred (n, ...).
struct Sum : Metric {
  /// `name` is what logs call it.
  explicit Sum(std::string name = "sum");
  /// Of all defaults: Sum({}).
  explicit Sum(Defaults) : Sum() {}
};

}  // namespace lockstep
