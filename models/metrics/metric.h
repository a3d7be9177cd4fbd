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

/// A value that is measured over examples, as in Keras: the result of a few sums. Each replica computes the sums of
/// its own examples, and they are added over batches and replicas before the result is computed, so that it is exact
/// for uneven and empty batches. A metric holds no state; see MetricTracker for custom loops.
class Metric {
 public:
  /// One or more numbers, which are added over batches and replicas.
  using Sums = std::vector<double>;
  /// How a metric's sums are computed and used.
  struct Rule {
    /// The sums over the rows of a batch, each counted `weights[row]` times. y_true may be undefined.
    std::function<Sums(const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights)> update;
    /// The value for given sums.
    std::function<double(const Sums&)> result;
    /// Which way the value gets better.
    Direction direction = Direction::unknown;
    /// The equivalent Keras metric, for files.
    std::optional<ObjectConfig> config{};
  };
  /// `name` is used in logs.
  Metric(std::string name, Rule rule) : name_(std::move(name)), rule_(std::move(rule)) {}

  /// As given.
  const std::string& name() const { return name_; }
  /// Which way the value gets better.
  Direction direction() const { return rule_.direction; }
  /// The equivalent Keras metric; empty for a custom one.
  const std::optional<ObjectConfig>& config() const { return rule_.config; }
  /// Keras' get_config, as JSON. Throws Unsupported for a custom one.
  std::string get_config() const;
  /// The same under another name.
  Metric with_name(std::string name) const { return {std::move(name), rule_}; }
  /// The sums of a batch of n rows; `sample_weight` (n) or (n, 1), or undefined for weights of 1. Records no gradient.
  /// Throws InvalidArgument for tensors that do not fit each other or the metric.
  Sums update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;
  /// The value for given sums; 0 for empty ones, as in Keras.
  double result(const Sums& sums) const;

 private:
  /// Throws LogicError when it has none.
  void check_rule() const;

  std::string name_;
  Rule rule_;
};

/// Adds the sums of more examples; empty sums count as zeros.
void add_sums(Metric::Sums& sums, const Metric::Sums& more);

/// a / b; 0 where b is 0, as in Keras.
inline double divide_no_nan(double a, double b) { return b == 0 ? 0 : a / b; }

/// The weighted mean of one value for each example: sum of weight * value / sum of weights.
struct MeanMetricWrapper : Metric {
  /// (y_true, y_pred) -> a value for each row.
  using Function = std::function<std::vector<double>(const Tensor& y_true, const Tensor& y_pred)>;
  /// `name` is used in logs.
  MeanMetricWrapper(std::string name, Function values, Direction direction = Direction::unknown,
                    std::optional<ObjectConfig> config = {});
  /// A loss under its own name: Keras' metric MeanSquaredError is MeanMetricWrapper(MeanSquaredError()).
  explicit MeanMetricWrapper(const Loss& loss);
};

/// The weighted mean over the examples of the values y_pred (n, ...), an example's being the mean over its elements.
struct Mean : MeanMetricWrapper {
  /// `name` is used in logs.
  explicit Mean(std::string name = "mean");
  /// Of all defaults: Mean({}).
  explicit Mean(Defaults) : Mean() {}
};
/// The weighted sum of the values y_pred (n, ...).
struct Sum : Metric {
  /// `name` is used in logs.
  explicit Sum(std::string name = "sum");
  /// Of all defaults: Sum({}).
  explicit Sum(Defaults) : Sum() {}
};

}  // namespace lockstep
