#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/inner_call.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/models/metrics/metric.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>
#include <lockstep/models/serialization/register_keras_serializable.h>

// A program's own layers, loss, metric and optimizer; tests/interop/custom_classes.py has the same classes.

namespace lockstep::test {

struct GainOptions {
  double factor = 1;
  std::string name{};
  void describe(LayerConfig& config) { config.option("factor", factor); }
};

/// factor * scale * x, with a weight for each feature.
class GainImpl : public LayerImpl {
 public:
  explicit GainImpl(const GainOptions& options) : LayerImpl(options.name), options_(options) {}
  std::string_view class_name() const override { return "Gain"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return inputs[0] * scale_.value() * options_.factor;
  }
  void describe(LayerConfig& config) const override { write_options(config, options_); }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed&) override {
    scale_ = add_weight({.name = "scale", .shape = {inputs[0].dim(-1)}, .initializer = ones()});
  }
  GainOptions options_;
  Variable scale_;
};

inline Layer gain(const GainOptions& options = {}) { return Layer(std::make_shared<GainImpl>(options)); }

struct ResidualOptions {
  std::string name{};
  std::shared_ptr<LayerImpl> inner{};
  void describe(LayerConfig& config) { config.option("inner", inner, config.input_rank()); }
};

/// x + inner(x); a handle, like lockstep's own layers.
struct Residual : Layer {
  explicit Residual(const ResidualOptions& options);
};

class ResidualImpl : public LayerImpl {
 public:
  explicit ResidualImpl(const ResidualOptions& options) : LayerImpl(options.name), options_(options) {}
  std::string_view class_name() const override { return "Residual"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return inputs[0] + call_inner(*options_.inner, *this, inputs, {.mode = call.mode});
  }
  void describe(LayerConfig& config) const override { write_options(config, options_); }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    build_inner({.group = "inner", .layer = options_.inner}, inputs, seed);
  }
  ResidualOptions options_;
};

inline Residual::Residual(const ResidualOptions& options) : Layer(std::make_shared<ResidualImpl>(options)) {}

/// A layer without options and weights.
class NegatedImpl : public LayerImpl {
 public:
  NegatedImpl() : LayerImpl("") {}
  std::string_view class_name() const override { return "Negated"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return -inputs[0]; }
  void describe(LayerConfig&) const override {}
};

struct PowerOptions {
  double power = 4;
  void describe(OptionVisitor& visitor) { visitor.option("power", power); }
};

inline Tensor mean_power(const Tensor& y_true, const Tensor& y_pred, double exponent) {
  return mean(power(abs(y_true - y_pred), exponent), {1});
}

struct PowerLoss : Loss {
  explicit PowerLoss(const PowerOptions& options = {})
      : Loss(
            "power_loss",
            [options](const Tensor& y_true, const Tensor& y_pred) { return mean_power(y_true, y_pred, options.power); },
            config_of("PowerLoss", options)) {}
};

struct PowerError : MeanMetricWrapper {
  explicit PowerError(const PowerOptions& options = {})
      : MeanMetricWrapper(
            "power_error",
            [options](const Tensor& y_true, const Tensor& y_pred) {
              return mean_power(y_true, y_pred, options.power).to_vector<double>();
            },
            Direction::down, config_of("PowerError", options)) {}
};

struct HeavyBallOptions {
  LearningRate learning_rate = 0.01;
  double decay = 0.9;
  void describe(OptionVisitor& visitor) { visitor.option("decay", decay); }
};

class HeavyBallRule : public Optimizer::Rule {
 public:
  explicit HeavyBallRule(const HeavyBallOptions& options) : options_(options) {}
  ObjectConfig config() const override { return config_of("HeavyBall", options_); }
  std::vector<Slot> slots() const override { return {{.name = "momentum"}}; }
  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override {
    step.slots[0] = step.slots[0] * options_.decay + step.gradient;
    step.value = step.value - step.slots[0] * step.learning_rate;
  }

 private:
  HeavyBallOptions options_;
};

struct HeavyBall : Optimizer {
  explicit HeavyBall(const HeavyBallOptions& options, const OptimizerOptions& common = {})
      : Optimizer(options.learning_rate, std::make_unique<HeavyBallRule>(options), common) {}
};

inline void register_classes() {
  register_keras_serializable<GainImpl>("tests", "Gain");
  register_keras_serializable<Residual>("tests", "Residual", "OtherName");
  register_keras_serializable<NegatedImpl>("tests", "Negated");
  register_keras_serializable<PowerLoss>("tests", "PowerLoss");
  register_keras_serializable<PowerError>("tests", "PowerError");
  register_keras_serializable<HeavyBall>("tests", "HeavyBall");
}

}  // namespace lockstep::test
