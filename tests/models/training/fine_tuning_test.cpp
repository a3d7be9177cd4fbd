#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/strategy/strategies/verify.h>

// Layers that are frozen and thawed between compile() and compile(), and models that share layers with another one.

namespace lockstep::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const SparseCategoricalCrossentropy from_logits({.from_logits = true});

/// Dense and batch normalization, "features", and a head for three classes.
Model classifier() {
  const Symbol x = Input({8});
  const Symbol hidden = Dense({.units = 16, .activation = Activation::relu, .name = "hidden"})(x);
  const Symbol features = Dense({.units = 8, .name = "features"})(BatchNormalization({.name = "norm"})(hidden));
  return {x, Dense({.units = 3, .name = "head"})(features), {.name = "classifier", .seed = 3}};
}

/// A model with the classifier's layers up to "features" and a new head.
Model with_new_head(const Model& base) {
  const Symbol features = base.get_layer("features").output();
  return {base.inputs().front(), Dense({.units = 3, .name = "new_head"})(features), {.seed = 4}};
}

void freeze_below_head(Model& model) {
  model.set_trainable(false);
  model.get_layer(-1).impl().set_trainable(true);
}

/// Warnings during work().
template <class Work>
std::string warnings_of(const Work& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

class FineTuningOn : public testing::TestWithParam<int> {};

TEST_P(FineTuningOn, ChangesOnlyTheHeadAtFirstAndThenAllLayers) {
  const MirroredStrategy strategy = mirrored(GetParam());
  const auto scope = strategy.scope();
  Model model = with_new_head(classifier());
  const Dataset data = SmallProblem(60).dataset().batch(12);
  freeze_below_head(model);
  EXPECT_EQ(model.trainable_variables().size(), 2U);
  const auto before = weights_of(model);
  model.compile(Adam({.learning_rate = 1e-2}), from_logits);
  model.fit(data);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(weights_of(model)[i] == before[i], i + 2 < before.size()) << i;
    if (i + 2 >= before.size()) continue;
    for (const Tensor& copy : model.variables()[i].state().copies())
      EXPECT_EQ(copy.to_vector<double>(), before[i]) << i;
  }

  model.set_trainable(true);
  const SGD slow({.learning_rate = 1e-2, .momentum = 0.9});
  model.compile(slow, from_logits);
  EXPECT_EQ(slow.iterations(), 0);
  model.fit(data);
  EXPECT_EQ(slow.iterations(), 5);
  EXPECT_EQ(slow.state().slots.front().values.size(), 8U);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NE(weights_of(model)[i], before[i]) << i;
  EXPECT_NO_THROW(verify_mirrored(model.variables()));
}

INSTANTIATE_TEST_SUITE_P(Replicas, FineTuningOn, testing::Values(1, 2, 3));

/// The weights after an epoch with the base frozen, and one with the base thawed but for its batch normalization, whose
/// statistics would depend on the split of the batch.
std::vector<std::vector<double>> tuned_with_frozen_statistics(int replicas) {
  const MirroredStrategy strategy = mirrored(replicas);
  const auto scope = strategy.scope();
  Model base = classifier();
  const Symbol x = Input({8}, "x");
  Model model(x, Dense({.units = 3, .name = "new_head"})(base(x)), {.seed = 4});
  const Dataset data = SmallProblem(60).dataset().batch(12);
  base.set_trainable(false);
  model.compile(SGD({.learning_rate = 0.1}), from_logits);
  model.fit(data);
  base.set_trainable(true);
  base.get_layer("norm").impl().set_trainable(false);
  const auto statistics = [&] { return base.get_layer("norm").impl().variables()[2].value().to_vector<double>(); };
  const auto before = statistics();
  model.compile(SGD({.learning_rate = 1e-2}), from_logits);
  model.fit(data);
  EXPECT_EQ(statistics(), before);
  EXPECT_EQ(model.trainable_variables().size(), 8U);
  return weights_of(model);
}

TEST(FineTuning, OfReplicasIsThatOfOne) {
  const auto expected = tuned_with_frozen_statistics(1);
  for (const int replicas : {2, 3, 5}) {
    const auto weights = tuned_with_frozen_statistics(replicas);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_THAT(weights[i], testing::Pointwise(testing::DoubleNear(tolerance(DType::f32, 60, 4)), expected[i])) << i;
  }
}

TEST(FineTuning, FrozenBatchNormalizationUsesItsStatisticsAndKeepsThem) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  Model model = classifier();
  const Layer& norm = model.get_layer("norm");
  for (const Variable& variable : norm.impl().variables())
    variable.assign(random_tensor(variable.shape(), 7, 0.5, 1.5));
  freeze_below_head(model);
  const Tensor x = random_tensor({6, 8}, 2);
  const Tensor inferred = model(x);
  strategy.run([&] { expect_same_bits(model(x, Mode::train), inferred); });
  for (const Variable& variable : norm.impl().variables())
    for (const Tensor& copy : variable.state().copies())
      expect_same_bits(copy, random_tensor(variable.shape(), 7, 0.5, 1.5));
  norm.impl().set_trainable(true);
  strategy.run([&] { model(x, Mode::train); });
  expect_same_bits(norm.impl().variables()[0].value(), random_tensor({16}, 7, 0.5, 1.5));
  EXPECT_NE(norm.impl().variables()[2].value().to_vector<double>(),
            random_tensor({16}, 7, 0.5, 1.5).to_vector<double>());
}

TEST(FineTuning, FrozenStatisticsAreTheMeanOnAllReplicas) {
  const MirroredStrategy strategy = mirrored(3);
  const auto scope = strategy.scope();
  Model model = classifier();
  model.compile(SGD({.learning_rate = 0.1}), from_logits);
  model.fit(SmallProblem(60).dataset().batch(12));
  const Layer& norm = model.get_layer("norm");
  const Variable& moving_mean = norm.impl().variables()[2];
  const Tensor mean = moving_mean.value();
  EXPECT_NE(moving_mean.state().copies()[0].to_vector<float>(), mean.to_vector<float>());
  norm.impl().set_trainable(false);
  for (const Tensor& copy : moving_mean.state().copies()) expect_same_bits(copy, mean);
}

TEST(FineTuning, NeedsCompileAfterAChange) {
  Model model = small_model(mirrored(2));
  const Dataset data = SmallProblem(24).dataset().batch(8);
  const Layer& hidden = model.get_layer("dense");
  hidden.impl().set_trainable(false);
  const auto before = weights_of(model);
  EXPECT_ERROR(LogicError,
               "fit(): 'dense/kernel' is frozen now, but was not when the model was compiled: after set_trainable(), "
               "call compile() again, with a new optimizer",
               model.fit(data));
  EXPECT_EQ(weights_of(model), before);
  EXPECT_TRUE(model.evaluate(data).contains("loss"));
  model.compile(SGD(), from_logits);
  model.fit(data);
  model.set_trainable(true);
  EXPECT_ERROR(LogicError, "fit(): 'dense/kernel' is trainable now, but was not when", model.fit(data));

  model.compile(SGD(), from_logits);
  const auto freezes = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
      .on_train_batch_end = [](Model& trained, const StepReport&) { trained.set_trainable(false); }});
  EXPECT_ERROR(LogicError, "fit(): 'dense/kernel' is frozen now", model.fit(data, {.callbacks = {freezes}}));
  EXPECT_EQ(model.optimizer().iterations(), 1);
  EXPECT_ERROR(InvalidArgument, "there are no trainable variables to optimize",
               (model.compile(SGD(), from_logits), model.fit(data)));
}

// A model that was frozen and thawed again trains on with the same optimizer, as Keras' GANs do.
TEST(FineTuning, ThawedAsCompiledItTrainsOn) {
  const Dataset data = SmallProblem(24).dataset().batch(8);
  for (const int replicas : {1, 3}) {
    Model model = small_model(mirrored(replicas));
    Model never_frozen = small_model(mirrored(replicas));
    for (int epoch = 0; epoch < 2; ++epoch) {
      model.set_trainable(false);
      model.set_trainable(true);
      model.fit(data);
      never_frozen.fit(data);
    }
    EXPECT_EQ(weights_of(model), weights_of(never_frozen));
    // The same variables and optimizer: compile() keeps its state.
    const Optimizer optimizer = model.optimizer();
    model.compile(optimizer, from_logits);
    model.fit(data);
    never_frozen.fit(data);
    EXPECT_EQ(optimizer.iterations(), 9);
    EXPECT_EQ(weights_of(model), weights_of(never_frozen));
  }
}

TEST(FineTuning, TakesANewOptimizerForOtherVariables) {
  Model model = small_model(mirrored(2));
  const Dataset data = SmallProblem(24).dataset().batch(8);
  model.fit(data);
  const Optimizer optimizer = model.optimizer();
  model.get_layer("dense").impl().set_trainable(false);
  model.compile(optimizer, from_logits);
  EXPECT_ERROR(InvalidArgument, "an optimizer belongs to the 4 variables of its first step", model.fit(data));
}

TEST(FineTuning, ChangesWhatTheSummaryCounts) {
  Model model = classifier();
  EXPECT_THAT(model.summary(), HasSubstr("Trainable params: 339 (1.32 KB)\n Non-trainable params: 32"));
  freeze_below_head(model);
  EXPECT_THAT(model.summary(), HasSubstr("Trainable params: 27 (108.00 B)\n Non-trainable params: 344"));
  model.set_trainable(true);
  EXPECT_THAT(model.summary(), HasSubstr("Trainable params: 339"));
}

TEST(FineTuning, IsNotStartedInReplicas) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  Model model = classifier();
  EXPECT_ERROR(LogicError, "layer 'hidden' was frozen inside a replica",
               strategy.run([&] { model.set_trainable(false); }));
  EXPECT_TRUE(model.get_layer("hidden").impl().trainable());
}

std::vector<bool> trainable_layers(const Model& model) {
  std::vector<bool> trainable;
  for (const Layer& layer : model.network().layers()) trainable.push_back(layer.impl().trainable());
  return trainable;
}

TEST(FrozenModel, OpensFrozenFromItsFile) {
  const TemporaryFolder folder;
  Model base = classifier();
  const Symbol x = Input({8});
  Model model(x, Dense({.units = 2, .name = "top"})(base(x)));
  base.set_trainable(false);
  base.get_layer("features").impl().set_trainable(true);
  model.compile(Adam(), from_logits);
  model.fit(Dataset::from_tensors(random_tensor({8, 8}, 1), Tensor::zeros({8}, DType::i64)).batch(4));
  for (const char* name : {"model.keras", "model.h5"}) {
    SCOPED_TRACE(name);
    model.save(folder / name);
    Model opened = load_model(folder / name);
    EXPECT_THAT(trainable_layers(opened), ElementsAre(false, false, true, false, true));
    EXPECT_EQ(opened.trainable_variables().size(), 4U);
    EXPECT_EQ(weights_of(opened), weights_of(model));
    EXPECT_EQ(opened.optimizer().iterations(), 2);
    opened.set_trainable(true);
    EXPECT_EQ(opened.trainable_variables().size(), 10U);
    opened.save(folder / name);
    EXPECT_THAT(trainable_layers(load_model(folder / name)), Each(true));
  }
}

TEST(FrozenModel, IsSavedWithoutTheOptimizersStateOfOtherVariables) {
  const TemporaryFolder folder;
  const std::string file = folder / "model.keras";
  Model model = small_model(mirrored(2));
  model.fit(SmallProblem(24).dataset().batch(8));
  model.get_layer("dense").impl().set_trainable(false);
  EXPECT_THAT(warnings_of([&] { model.save(file); }),
              HasSubstr("'functional' is saved without the state of its optimizer: layers have been frozen or thawed"));
  Model opened = load_model(file);
  EXPECT_EQ(weights_of(opened), weights_of(model));
  EXPECT_EQ(opened.optimizer().iterations(), 0);
  EXPECT_EQ(opened.optimizer().learning_rate(), 0.2);
  opened.fit(SmallProblem(24).dataset().batch(8));
  EXPECT_EQ(opened.optimizer().iterations(), 3);
}

TEST(CutModel, SharesLayersWeightsAndNamesWithAnOpenedOne) {
  const TemporaryFolder folder;
  classifier().save(folder / "model.keras");
  const Model opened = load_model(folder / "model.keras");
  const Model cut = with_new_head(opened);
  std::vector<std::string> names;
  for (const Layer& layer : cut.network().layers()) names.push_back(layer.name());
  EXPECT_THAT(names, ElementsAre("hidden", "norm", "features", "new_head"));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(cut.variables()[i] == opened.variables()[i]) << i;
  const Model features(opened.inputs(), opened.get_layer("features").output());
  const Tensor x = random_tensor({4, 8}, 1);
  const std::vector<Variable> top = opened.get_layer("head").impl().variables();
  expect_same_bits(opened(x), dense(features(x), top[0].value(), top[1].value()));
  expect_same_bits(Model(opened.inputs(), opened.outputs())(x), opened(x));
}

TEST(CutModel, IsMadeOfASequentialOne) {
  const Sequential base({8}, {Dense({.units = 4}), BatchNormalization(), Dense({.units = 3})});
  const Model cut(base.inputs(), Dense({.units = 2})(base.get_layer(-2).output()));
  EXPECT_EQ(cut.variables().size(), 8U);
  EXPECT_TRUE(cut.variables()[0] == base.variables()[0]);
  EXPECT_EQ(cut.get_layer(-1).name(), "dense_1");
}

TEST(CutModel, IsMadeInTheSameStrategysScope) {
  const Model base = mirrored(2).scope([] { return classifier(); });
  EXPECT_ERROR(InvalidArgument, "layer 'hidden' was built under another strategy", with_new_head(base));
}

}  // namespace
}  // namespace lockstep::test
