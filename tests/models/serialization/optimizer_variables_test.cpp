#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/layers/merge.h>
#include <lockstep/models/optimizers/adadelta.h>
#include <lockstep/models/optimizers/adafactor.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/adamax.h>
#include <lockstep/models/optimizers/ftrl.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/models/optimizers/nadam.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/training/model_files.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Layers that Keras lists in another order than that of their calls.
Model branches() {
  const Symbol input = Input({8});
  const Symbol near = Dense({.units = 6, .name = "near"})(input);
  const Symbol far = Dense({.units = 5, .activation = Activation::tanh, .name = "far"})(input);
  const Symbol middle = Dense({.units = 6, .name = "middle"})(far);
  return {input, Dense({.units = 3, .name = "end"})(Add()({near, middle})), {.seed = 3}};
}

/// Index of the variable with this name: a loaded model has its layers in Keras' order.
std::size_t number_of(const std::string& name, const std::vector<Variable>& variables) {
  const auto found = std::ranges::find(variables, name, [](const Variable& variable) { return variable.name(); });
  require(found != variables.end(), "there is no '{}'", name);
  return static_cast<std::size_t>(found - variables.begin());
}

const SparseCategoricalCrossentropy loss{{.from_logits = true}};

/// Three steps.
void train(Model& model) { model.fit(test::SmallProblem(36).dataset().batch(12)); }

const std::vector<std::function<Optimizer()>> optimizers{
    [] { return SGD(); },
    [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}, {.global_clipnorm = 0.5}); },
    [] { return Adam({.learning_rate = 0.01, .amsgrad = true}, {.use_ema = true, .ema_momentum = 0.5}); },
    [] { return AdamW({.learning_rate = 0.01, .weight_decay = 0.5}, {.exclude_from_weight_decay = {"bias"}}); },
    [] { return RMSprop({.learning_rate = 0.01, .momentum = 0.5, .centered = true}, {.clipnorm = 0.5}); },
    [] { return Adagrad({.learning_rate = 0.1, .initial_accumulator_value = 0.2}, {.clipvalue = 0.25}); },
    [] { return Lamb({.learning_rate = 0.01}, {.gradient_accumulation_steps = 3}); },
    [] { return Lion({.learning_rate = 0.001}); },
    [] { return Nadam({.learning_rate = 0.01}, {.use_ema = true}); },
    [] { return Muon({.learning_rate = 0.01, .exclude_layers = {"near"}, .rms_rate = {}}); },
    [] { return Adamax({.learning_rate = 0.01}); },
    [] { return Adafactor({.learning_rate = 0.1}, {.use_ema = true}); },
    [] { return Adadelta({.learning_rate = 1}); },
    [] { return Ftrl({.learning_rate = 0.1, .l1_regularization_strength = 0.01}); },
    [] {
      return SGD(
          {.learning_rate = ExponentialDecay({.initial_learning_rate = 0.5, .decay_steps = 2, .decay_rate = 0.5})},
          {.clipnorm = 0.25, .clip_before_aggregate = true});
    }};

class OptimizerFiles : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / (std::string("model") + std::get<0>(GetParam()));
};

// semantics 11.1: state that many replicas share is saved as one, and resumes from there.
TEST_P(OptimizerFiles, GoOnToTheSameBits) {
  const MirroredStrategy strategy = test::mirrored(2);
  Model straight = strategy.scope([] { return branches(); });
  straight.compile(optimizers[static_cast<std::size_t>(std::get<1>(GetParam()))](), loss, {Accuracy()});
  train(straight);
  save_model(straight, file_);
  Model loaded = strategy.scope([&] { return load_model(file_); });
  EXPECT_EQ(loaded.optimizer().learning_rate(), straight.optimizer().learning_rate());
  EXPECT_EQ(loaded.optimizer().iterations(), straight.optimizer().iterations());
  EXPECT_EQ(loaded.metrics().at(0).name(), "accuracy");
  train(straight);
  train(loaded);
  const OptimizerState expected = straight.optimizer().state();
  const OptimizerState state = loaded.optimizer().state();
  ASSERT_EQ(state.slots.size(), expected.slots.size());
  const std::vector<Variable> variables = loaded.variables();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::size_t same = number_of(variables[i].name(), straight.variables());
    test::expect_same_bits(variables[i].value(), straight.variables()[same].value());
    for (std::size_t slot = 0; slot < state.slots.size(); ++slot)
      test::expect_same_bits(state.slots[slot].values[i], expected.slots[slot].values[same]);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerFiles,
                         testing::Combine(testing::Values(".keras", ".h5"),
                                          testing::Range(0, static_cast<int>(optimizers.size()))));

class TrainedFiles : public testing::TestWithParam<const char*> {
 protected:
  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / (std::string("model") + GetParam());
};

// semantics 11.1: saved by N replicas, loaded by M
TEST_P(TrainedFiles, GoOnWithOtherNumbersOfReplicas) {
  const MirroredStrategy three = test::mirrored(3);
  Model straight = three.scope([] { return branches(); });
  straight.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}), loss);
  train(straight);
  save_model(straight, file_);
  train(straight);
  for (const int replicas : {1, 2, 4}) {
    const MirroredStrategy strategy = test::mirrored(replicas);
    Model loaded = strategy.scope([&] { return load_model(file_); });
    train(loaded);
    // Three steps, each a sum over 12 examples.
    for (const Variable& variable : loaded.variables()) {
      const Variable same = straight.variables()[number_of(variable.name(), straight.variables())];
      test::expect_close(variable.value(), same.value().to_vector<double>(), 36);
    }
  }
}

TEST_P(TrainedFiles, BeginWhereNoStepWasDone) {
  Model model = branches();
  model.compile(Adam({.learning_rate = 0.25}, {.aggregate = false}), loss);
  save_model(model, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.optimizer().learning_rate(), 0.25);
  EXPECT_FALSE(loaded.optimizer().config().common.aggregate);
  EXPECT_EQ(loaded.optimizer().iterations(), 0);
  EXPECT_TRUE(loaded.optimizer().state().slots.empty());
  EXPECT_ERROR(LogicError, "call compile() first", load_model(file_, {.compile = false}).optimizer());
}

TEST_P(TrainedFiles, HoldModelsThatDoNotTrain) {
  const Dense frozen({.units = 3});
  frozen.impl().set_trainable(false);
  const Symbol input = Input({8});
  Model model(input, frozen(input));
  model.compile(Adam({.learning_rate = 0.25}), loss);
  save_model(model, file_);
  EXPECT_EQ(load_model(file_).optimizer().learning_rate(), 0.25);
}

TEST_P(TrainedFiles, NameALossOfTheProgram) {
  const Loss own("mine", [](const Tensor& y_true, const Tensor& y_pred) { return loss(y_true, y_pred); });
  Model model = branches();
  model.compile(SGD({.momentum = 0.5}), own);
  train(model);
  save_model(model, file_);
  EXPECT_ERROR(InputError, file_ + ": lockstep has no loss 'mine'", load_model(file_));
  Model loaded = load_model(file_, {.custom_objects = {.losses = {own}}});
  train(loaded);
  train(model);
  const Variable same = model.variables()[number_of(loaded.variables()[0].name(), model.variables())];
  test::expect_same_bits(loaded.variables()[0].value(), same.value());
}

INSTANTIATE_TEST_SUITE_P(Formats, TrainedFiles, testing::Values(".keras", ".h5"));

/// Creates the model like load_model.
Training training_of(const Model& model, const Optimizer& optimizer) {
  return {.config = {.optimizer = optimizer, .outputs = {{.loss = loss}}},
          .trained = {.variables = model.trainable_variables(), .in_keras_order = model.trainable_variables()}};
}

TEST(OptimizerVariables, StandInKerasOrder) {
  Model model = test::small_model(test::mirrored(1));
  const Adam adam;
  model.compile(adam, loss);
  train(model);
  hdf5::Writer file(1 << 16);
  std::vector<std::string> names;
  const auto dataset = [&](std::size_t, const std::string& name) {
    names.push_back(name);
    return "optimizer/" + name;
  };
  write_optimizer(file, "optimizer", training_of(model, adam), dataset);
  EXPECT_THAT(names, ElementsAre("iteration", "learning_rate", "dense_kernel_momentum", "dense_kernel_velocity",
                                 "dense_bias_momentum", "dense_bias_velocity", "dense_1_kernel_momentum",
                                 "dense_1_kernel_velocity", "dense_1_bias_momentum", "dense_1_bias_velocity"));
}

TEST(OptimizerVariables, OfAnotherModelOrOptimizerAreRefused) {
  Model model = test::small_model(test::mirrored(1));
  train(model);
  hdf5::Writer file(1 << 16);
  const auto number = [](std::size_t i, const std::string&) { return "vars/" + std::string(1, "0123456789"[i]); };
  const auto datasets = write_optimizer(file, "vars", training_of(model, model.optimizer()), number);
  const hdf5::Reader reader("file", file.image());
  const SGD fresh({.momentum = 0.9});
  EXPECT_ERROR(InputError, "file: weight 'near/kernel' has shape (8, 6), its optimizer state in \"vars/2\"",
               read_optimizer(reader, "vars", {.names = {datasets.begin(), datasets.begin() + 6}}, [&] {
                 Training other = training_of(branches(), fresh);
                 other.trained.variables.resize(4);
                 other.trained.in_keras_order.resize(4);
                 return other;
               }()));
  EXPECT_ERROR(InputError, "file: the optimizer Adam has 10 variables for this model, the file has 6",
               read_optimizer(reader, "vars", {.names = datasets}, training_of(model, Adam())));
  EXPECT_ERROR(InputError, "\"vars/1\" is not one integer",
               read_optimizer(reader, "vars", {.names = {datasets[1], datasets[0]}}, training_of(model, fresh)));
  EXPECT_ERROR(InvalidArgument, "has trained other variables than the model's 8 trainable ones",
               write_optimizer(file, "again", training_of(branches(), model.optimizer()), number));
}

}  // namespace
}  // namespace lockstep
