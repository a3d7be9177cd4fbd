// Quantile regression with a custom layer, loss, metric and optimizer, which are registered so that whole models can be
// saved and loaded, as in Keras' guide to saving. Over two replicas, a model learns to predict the value below which 90
// % of the targets lie; the program then saves it, loads it and trains it further.
//   custom_classes [EPOCHS]

#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

struct RadialBasisOptions {
  std::int64_t units = 0;
  double gamma = 1;
  std::string name{};
  void describe(LayerConfig& config) {
    config.option("units", units);
    config.option("gamma", gamma);
  }
};

/// (features) -> (units): exp(-gamma |x - c|^2) for the center c of each unit.
class RadialBasisImpl : public LayerImpl {
 public:
  explicit RadialBasisImpl(const RadialBasisOptions& options) : LayerImpl(options.name), options_(options) {}
  std::string_view class_name() const override { return "RadialBasis"; }
  Shape output_shape(std::span<const Shape>) const override { return {options_.units}; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor distances = expand_dims(inputs[0], 1) - centers_.value();  // (n, units, features)
    return exp(sum(square(distances), {2}) * -options_.gamma);
  }
  void describe(LayerConfig& config) const override { write_options(config, options_); }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const SeededInitializer uniform = random_uniform({.minval = -3, .maxval = 3});
    centers_ = add_weight(
        {.name = "centers", .shape = {options_.units, inputs[0].dim(-1)}, .initializer = uniform(seed.key(0))});
  }
  RadialBasisOptions options_;
  Variable centers_;
};

struct QuantileOptions {
  double quantile = 0.5;
  void describe(OptionVisitor& visitor) { visitor.option("quantile", quantile); }
};

/// The pinball loss. Its minimum is at predictions that are above the fraction `quantile` of the targets.
struct QuantileLoss : Loss {
  explicit QuantileLoss(const QuantileOptions& options)
      : Loss(
            "quantile_loss",
            [options](const Tensor& y_true, const Tensor& y_pred) {
              const Tensor error = y_true - y_pred;
              return mean(maximum(error * options.quantile, error * (options.quantile - 1)), {1});
            },
            config_of("QuantileLoss", options)) {}
};

/// The fraction of the targets that are at most their predictions.
struct Coverage : MeanMetricWrapper {
  Coverage()
      : MeanMetricWrapper(
            "coverage",
            [](const Tensor& y_true, const Tensor& y_pred) {
              return mean(cast(less_equal(y_true, y_pred), DType::f32), {1}).to_vector<double>();
            },
            Direction::unknown, ObjectConfig{"Coverage"}) {}
};

struct NormalizedOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  void describe(OptionVisitor& visitor) { visitor.option("momentum", momentum); }
};

/// Moves each variable along a moving average of its normalized gradients.
class NormalizedRule : public Optimizer::Rule {
 public:
  explicit NormalizedRule(const NormalizedOptions& options) : options_(options) {}
  ObjectConfig config() const override { return config_of("Normalized", options_); }
  std::vector<Slot> slots() const override { return {{.name = "momentum"}}; }
  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override {
    const Tensor direction = step.gradient / (norm(step.gradient) + 1e-7);
    step.slots[0] = step.slots[0] * options_.momentum + direction * (1 - options_.momentum);
    step.value = step.value - step.slots[0] * step.learning_rate;
  }

 private:
  NormalizedOptions options_;
};

struct Normalized : Optimizer {
  explicit Normalized(const NormalizedOptions& options, const OptimizerOptions& common = {})
      : Optimizer(options.learning_rate, std::make_unique<NormalizedRule>(options), common) {}
};

/// A sine with noise that grows with x.
Dataset noisy_sine(std::int64_t examples) {
  std::mt19937 generator(0);
  std::normal_distribution<float> noise;
  const Tensor x = Tensor::empty({examples, 1});
  const Tensor y = Tensor::empty({examples, 1});
  for (std::size_t i = 0; i < static_cast<std::size_t>(examples); ++i) {
    const float at = 6 * static_cast<float>(i) / static_cast<float>(examples) - 3;
    x.span<float>()[i] = at;
    y.span<float>()[i] = std::sin(at) + (0.1F + 0.05F * (at + 3)) * noise(generator);
  }
  return Dataset::from_tensors(x, y).shuffle().batch(64);
}

}  // namespace

int main(int argc, char** argv) try {
  const int epochs = argc > 1 ? std::stoi(argv[1]) : 40;
  register_keras_serializable<RadialBasisImpl>("lockstep_examples", "RadialBasis");
  register_keras_serializable<QuantileLoss>("lockstep_examples", "QuantileLoss");
  register_keras_serializable<Coverage>("lockstep_examples", "Coverage");
  register_keras_serializable<Normalized>("lockstep_examples", "Normalized");

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  const Layer basis(std::make_shared<RadialBasisImpl>(RadialBasisOptions{.units = 16, .gamma = 2}));
  Model model = Sequential({1}, {basis, Dense({.units = 1})});
  model.compile(Normalized({.learning_rate = 0.01}), QuantileLoss({.quantile = 0.9}), {Coverage()});
  const Dataset data = noisy_sine(1024);
  model.fit(data, {.epochs = epochs});
  fmt::print("coverage after {} epochs: {:.3f}\n", epochs, model.evaluate(data).at("coverage"));

  const std::string file = "custom_classes.keras";
  model.save(file);
  Model loaded = load_model(file);
  std::filesystem::remove(file);
  const auto train_on = [&](Model& trained) {
    return trained.fit(data, {.epochs = epochs + 1, .initial_epoch = epochs}).values.at("loss").front();
  };
  const double loss = train_on(model);
  fmt::print("loss of one more epoch: {:.4f}, of the loaded model: {}\n", loss,
             train_on(loaded) == loss ? "the same" : "another");
} catch (const std::exception& error) {
  fmt::print(stderr, "custom_classes: {}\n", error.what());
  return 1;
}
