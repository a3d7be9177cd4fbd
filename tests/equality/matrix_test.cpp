// Strategies x models x optimizers: training on several replicas must end with the same weights as training on one
// device with whole global batches; TF case 99 (ctl_correctness) and similar cases. With batch normalization, replicas
// normalize by their own rows, so the reference processes the replicas' rows one after the other on one device.

#include <map>
#include <ostream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

#include "labels.h"

namespace lockstep::test {
namespace {

constexpr std::int64_t rows = 27;
constexpr std::int64_t batch_rows = 11;  // 11, 11, 5: neither 2 nor 3 replicas divide one
constexpr int steps = 3;
constexpr std::int64_t classes = 4;
const ModelOptions same_weights{.seed = 11};

Tensor classification_loss(const Tensor& y_true, const Tensor& y_pred) {
  return sparse_softmax_cross_entropy(y_pred, y_true);
}

struct Problem {
  std::string name;
  Shape example;  ///< the shape of one example
  Model (*model)();
  Tensor (*loss)(const Tensor& y_true, const Tensor& y_pred) = classification_loss;  ///< one loss for each example
  std::int64_t terms = 1;  ///< in the longest sum, forward or backward, that depends on a row
  bool normalizes_batches = false;

  Dataset batches() const {
    Shape shape{rows};
    for (const std::int64_t size : example) shape.push_back(size);
    const Tensor x = random_tensor(shape, 5);
    if (loss == classification_loss) return Dataset::from_tensors(x, cyclic_labels(rows, classes)).batch(batch_rows);
    return Dataset::from_tensors(x, random_tensor({rows, 1}, 6)).batch(batch_rows);
  }
};

Model line() {
  const Symbol x = Input({6});
  return {x, Dense({.units = 1})(x), same_weights};
}

Model mlp() {
  const Symbol x = Input({10});
  Symbol y = Dense({.units = 16, .activation = Activation::tanh})(x);
  y = Dropout({.rate = 0})(Dense({.units = 12, .activation = Activation::relu})(y));
  return {x, Dense({.units = classes})(y), same_weights};
}

Symbol conv(const Symbol& x, std::int64_t filters, std::int64_t size) {
  return Conv2D({.filters = filters, .kernel_size = {size, size}, .padding = Padding::same})(x);
}

Model convnet() {
  const Symbol x = Input({8, 8, 2});
  Symbol y = ActivationLayer(Activation::relu)(conv(x, 6, 3));
  y = ActivationLayer(Activation::relu)(conv(MaxPooling2D()(y), 8, 3));
  return {x, Dense({.units = classes})(Flatten()(y)), same_weights};
}

Symbol normalized_conv(const Symbol& x, std::int64_t filters, std::int64_t size) {
  return ActivationLayer(Activation::relu)(BatchNormalization()(conv(x, filters, size)));
}

/// The building blocks of MiniGoogLeNet: a convolution, an inception module, a downsample module, the mean, the
/// classes.
Model inception() {
  const Symbol x = Input({8, 8, 2});
  Symbol y = normalized_conv(x, 6, 3);
  y = Concatenate()({normalized_conv(y, 4, 1), normalized_conv(y, 4, 3)});
  const Symbol strided = Conv2D({.filters = 4, .kernel_size = {3, 3}, .strides = {2, 2}})(y);
  y = Concatenate()({ActivationLayer(Activation::relu)(BatchNormalization()(strided)),
                     MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}})(y)});
  y = Flatten()(AveragePooling2D({.pool_size = {3, 3}})(y));
  return {x, Dense({.units = classes})(y), same_weights};
}

Model lstm() {
  const Symbol x = Input({7, 5});
  return {x, Dense({.units = classes})(LSTM({.units = 8})(x)), same_weights};
}

/// A decoder that starts with the states after an encoder.
Model encoder_decoder() {
  const Symbol x = Input({7, 5});
  const std::vector<Symbol> encoded = LSTM({.units = 8, .return_state = true}).results({x});
  return {x, Dense({.units = classes})(LSTM({.units = 8})({x, encoded[1], encoded[2]})), same_weights};
}

Tensor squared_error(const Tensor& y_true, const Tensor& y_pred) { return square(y_pred - y_true); }

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all{
      {.name = "line", .example = {6}, .model = line, .loss = squared_error, .terms = 6},
      {.name = "mlp", .example = {10}, .model = mlp, .terms = 16},
      {.name = "convnet", .example = {8, 8, 2}, .model = convnet, .terms = 8 * 8},
      {.name = "inception", .example = {8, 8, 2}, .model = inception, .terms = 8 * 8, .normalizes_batches = true},
      {.name = "lstm", .example = {7, 5}, .model = lstm, .terms = 7 * 8},
      {.name = "encoder_decoder", .example = {7, 5}, .model = encoder_decoder, .terms = 14 * 8},
  };
  return all;
}

/// Makes GoogleTest print a parameter.
void PrintTo(const Problem& problem, std::ostream* out) { *out << problem.name; }

struct OptimizerCase {
  std::string name;
  Optimizer (*make)();
};

void PrintTo(const OptimizerCase& optimizer, std::ostream* out) { *out << optimizer.name; }

const std::vector<OptimizerCase>& optimizers() {
  static const std::vector<OptimizerCase> all{
      {"sgd", []() -> Optimizer { return SGD({.learning_rate = 0.1}); }},
      {"nesterov", []() -> Optimizer { return SGD({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true}); }},
      // With Keras' epsilon of 1e-7, gradients that consist only of rounding errors would cause whole steps.
      {"adam", []() -> Optimizer { return Adam({.learning_rate = 0.01, .epsilon = 0.01}); }},
  };
  return all;
}

std::vector<std::pair<std::string, Strategy>> strategies() {
  std::vector<std::pair<std::string, Strategy>> all{{"one device", OneDeviceStrategy("CPU:0")},
                                                    {"central storage", CentralStorageStrategy(logical_cpus(2))}};
  for (const int replicas : {2, 3})
    for (const CrossDeviceOps ops : host_cross_device_ops)
      all.emplace_back(fmt::format("mirrored {}, {}", replicas, name(ops)), mirrored(replicas, ops));
  return all;
}

using Values = std::vector<std::vector<double>>;

Values values_of(const Model& model) {
  Values values;
  for (const Variable& variable : model.trainable_variables()) values.push_back(variable.value().to_vector<double>());
  return values;
}

class EqualityOf : public testing::TestWithParam<std::tuple<Problem, OptimizerCase>> {
 protected:
  Tensor loss_of(const Model& model, const Batch& part, std::int64_t global_rows) const {
    return compute_average_loss(problem_.loss(part.y(), model(part.x(), Mode::train)),
                                {.global_batch_size = global_rows});
  }

  Values train_on(const Strategy& strategy) const {
    const auto scope = strategy.scope();
    const Model model = problem_.model();
    const Optimizer optimizer = make_optimizer_();
    for (const DistributedBatch& batch : strategy.distribute(problem_.batches()).epoch())
      strategy.run(
          [&](const Batch& local) {
            GradientTape tape;
            optimizer.minimize(tape, loss_of(model, local, batch.global_size()), model.trainable_variables());
          },
          batch);
    return values_of(model);
  }

  /// Without a strategy: sums the gradients of each batch's `parts` parts, computed one after the other.
  Values train_on_one_device(int parts) const {
    const Model model = problem_.model();
    const Optimizer optimizer = make_optimizer_();
    const std::vector<Variable> variables = model.trainable_variables();
    for (const Batch& batch : problem_.batches().epoch()) {
      std::vector<Tensor> sums;
      const DistributedBatch split(batch, parts);
      for (const Batch& part : split.local_results()) {
        std::vector<Tensor> weights;
        for (const Variable& variable : variables) weights.push_back(variable.value());
        GradientTape tape;
        const auto gradients = tape.gradient(loss_of(model, part, batch.size()), weights);
        for (std::size_t i = 0; i < gradients.size(); ++i)
          if (sums.size() <= i)
            sums.push_back(gradients[i]);
          else
            sums[i] = sums[i] + gradients[i];
      }
      optimizer.apply_gradients(sums, variables);
    }
    return values_of(model);
  }

  /// Tolerance: the change of a variable is a sum over steps, rows and their terms; only the grouping of the additions
  /// differs, and each step rounds the variable. Terms may cancel, as all do for a bias before batch normalization: the
  /// largest change of any variable shows how large they are.
  double allowed(const Values& before, const Values& after) const {
    double change = 0;
    double value = 0;
    for (std::size_t v = 0; v < after.size(); ++v)
      for (std::size_t i = 0; i < after[v].size(); ++i) {
        change = std::max(change, std::abs(after[v][i] - before[v][i]));
        value = std::max(value, std::abs(after[v][i]));
      }
    return tolerance(DType::f32, steps * batch_rows * problem_.terms, change) + tolerance(DType::f32, steps, value);
  }

  const Problem problem_ = std::get<0>(GetParam());
  Optimizer (*const make_optimizer_)() = std::get<1>(GetParam()).make;
};

// TF case 99: ctl_correctness. semantics 8.1, 8.2, 15.3: uneven last batches weigh as on one device.
TEST_P(EqualityOf, ReplicasAndOneDevice) {
  const Model untrained = problem_.model();
  const Values before = values_of(untrained);
  std::map<int, Values> expected;  // keyed by the number of parts
  for (const auto& [name, strategy] : strategies()) {
    const int parts = problem_.normalizes_batches ? strategy.num_replicas_in_sync() : 1;
    if (!expected.contains(parts)) expected[parts] = train_on_one_device(parts);
    const Values& one = expected[parts];
    EXPECT_NE(one, before) << "a model that learns nothing proves nothing";
    const double distance = allowed(before, one);
    const Values several = train_on(strategy);
    ASSERT_EQ(several.size(), one.size());
    for (std::size_t v = 0; v < one.size(); ++v)
      EXPECT_THAT(several[v], testing::Pointwise(testing::DoubleNear(distance), one[v]))
          << name << ", " << untrained.trainable_variables()[v].name();
  }
}

INSTANTIATE_TEST_SUITE_P(ModelsAndOptimizers, EqualityOf,
                         testing::Combine(testing::ValuesIn(problems()), testing::ValuesIn(optimizers())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace lockstep::test
