#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/training/model_files.h>

// Models whose inputs are unused, are outputs, or are results of layers, as in Keras.

namespace lockstep::test {
namespace {

using testing::ElementsAre;

/// Two inputs, of which the first is also an output and the second is unused.
Model passing_on(const Strategy& strategy, const std::string& name = "functional") {
  const auto inside = strategy.scope();
  const Symbol x = Input({8}, "x");
  return {{x, Input({2}, "unused")}, {x, Dense({.units = 3, .name = "labels"})(x)}, {.name = name, .seed = 5}};
}

class InputsAndOutputs : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_ = mirrored(GetParam());
  const SmallProblem problem_{20};
  const Tensor unused_ = random_tensor({20, 2}, 2);
};

TEST_P(InputsAndOutputs, MayBeUnusedAndTheSame) {
  Model model = passing_on(strategy_);
  EXPECT_THAT(model.network().output_names(), ElementsAre("x", "labels"));
  EXPECT_EQ(model.network().output_shape(), Shape{8});
  EXPECT_THAT(model.summary(), testing::HasSubstr("unused (InputLayer)"));
  const std::vector<Tensor> outputs = model.predict_all({problem_.x, unused_}, {.batch_size = 6});
  expect_same_bits(outputs[0], problem_.x);
  expect_close(outputs[1], model.run({problem_.x, unused_})[1].to_vector<double>(), 8);
  EXPECT_THROW(model.predict_all({problem_.x}), InvalidArgument);
}

/// The same layer without the other output and input.
Model alone(const Strategy& strategy) {
  const auto inside = strategy.scope();
  const Symbol x = Input({8}, "x");
  return {x, Dense({.units = 3, .name = "labels"})(x), {.seed = 5}};
}

TEST_P(InputsAndOutputs, TrainLikeAModelWithoutThem) {
  const SparseCategoricalCrossentropy crossentropy({.from_logits = true});
  Model model = passing_on(strategy_);
  model.compile(SGD({.learning_rate = 0.2}),
                {{.loss = MeanSquaredError()}, {.loss = crossentropy, .metrics = {Accuracy()}}});
  Model expected = alone(strategy_);
  expected.compile(SGD({.learning_rate = 0.2}), crossentropy, {Accuracy()});
  const Dataset data = Dataset::from_tensors({{problem_.x, unused_}, {Tensor::zeros({20, 8}), problem_.y}}).batch(6);
  const History history = model.fit(data, {.epochs = 3, .validation = data});
  const History without = expected.fit(problem_.dataset().batch(6), {.epochs = 3});
  EXPECT_EQ(weights_of(model), weights_of(expected));
  EXPECT_EQ(history.values.at("labels_loss"), without.values.at("loss"));
  EXPECT_EQ(history.values.at("labels_accuracy"), without.values.at("accuracy"));
  double squares = 0;
  for (const double x : problem_.x.to_vector<double>()) squares += x * x / 160;
  EXPECT_NEAR(history.values.at("x_loss").back(), squares, tolerance(DType::f32, 160, squares));
  EXPECT_NEAR(model.evaluate(data).at("x_loss"), squares, tolerance(DType::f32, 160, squares));
}

TEST_P(InputsAndOutputs, AreThoseOfAModelInTheModel) {
  const Model inner = passing_on(strategy_, "inner");
  const auto inside = strategy_.scope();
  const Symbol x = Input({8}, "outer");
  const std::vector<Symbol> results = inner.run({x, Dense({.units = 2, .name = "no_reader"})(x)});
  const Model outer(x, Concatenate()({results[0], results[1]}));
  EXPECT_EQ(outer.network().layers().size(), 3U) << "as in Keras, arguments that the inner model does not use remain";
  const Tensor output = outer.predict(problem_.x);
  const Tensor labels = inner.predict_all({problem_.x, unused_})[1];
  for (std::int64_t row = 0; row < 20; ++row) {
    expect_same_bits(output.slice_view(0, row, row + 1).slice_view(1, 0, 8), problem_.x.slice_view(0, row, row + 1));
    expect_same_bits(output.slice_view(0, row, row + 1).slice_view(1, 8, 11), labels.slice_view(0, row, row + 1));
  }
  const Model only_passed_on(x, Dense({.units = 1})(results[0]));
  EXPECT_EQ(only_passed_on.network().layers().size(), 1U);
}

TEST_P(InputsAndOutputs, AreKeptByFiles) {
  const TemporaryFolder folder;
  const Model inner = passing_on(strategy_, "inner");
  const Model saved = strategy_.scope([&] {
    const Symbol x = Input({8}, "outer");
    const Symbol y = Input({2}, "y");
    const std::vector<Symbol> results = inner.run({x, y});
    return Model({y, x, Input({1}, "unused")}, {results[1], y, Dense({.units = 2})(results[0])});
  });
  const std::vector<Tensor> inputs{unused_, problem_.x, Tensor::zeros({20, 1})};
  const std::vector<Tensor> expected = saved.predict_all(inputs);
  for (const char* const name : {"model.keras", "model.h5"}) {
    saved.save(folder / name);
    const Model loaded = strategy_.scope([&] { return load_model(folder / name); });
    EXPECT_EQ(loaded.network().inputs().size(), 3U);
    const std::vector<Tensor> outputs = loaded.predict_all(inputs);
    ASSERT_EQ(outputs.size(), 3U);
    for (std::size_t i = 0; i < outputs.size(); ++i) expect_same_bits(outputs[i], expected[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, InputsAndOutputs, testing::ValuesIn(replica_counts));

TEST(InnerInput, StartsAModelThatSharesTheLayersAfterIt) {
  const Symbol x = Input({8}, "x");
  const Dense first({.units = 4, .name = "first"});
  const Dense second({.units = 3, .name = "second"});
  const Symbol hidden = first(x);
  const Model whole(x, second(hidden));
  const Model upper({hidden}, {Add()({second(hidden), second(hidden)}), hidden});
  EXPECT_EQ(upper.variables().size(), 2U);
  EXPECT_TRUE(upper.variables()[0] == whole.variables()[2]);
  EXPECT_EQ(upper.network().inputs()[0].name, "keras_tensor");
  EXPECT_EQ(upper.network().inputs()[0].shape, Shape{4});
  const Tensor input = random_tensor({5, 8}, 1);
  const Tensor middle = Model(x, hidden).predict(input);
  const std::vector<Tensor> outputs = upper.predict_all({middle});
  expect_close(outputs[0], (whole.predict(input) * 2.0).to_vector<double>(), 8);
  expect_same_bits(outputs[1], middle);
  EXPECT_ERROR(InvalidArgument, "depends on the input 'x', which is not among the model's inputs 'keras_tensor'",
               Model({hidden}, {second(hidden), Dense({.units = 1})(x)}));
  EXPECT_ERROR(InvalidArgument, "is given twice", Model({hidden, hidden}, second(hidden)));
}

TEST(InnerInput, MayBeInsideAModelInTheModel) {
  const TemporaryFolder folder;
  const Symbol x = Input({8}, "x");
  const Model inner(x, Dense({.units = 3, .name = "top"})(Dense({.units = 4, .name = "bottom"})(x)),
                    {.name = "inner", .seed = 3});
  const Symbol y = Input({8}, "y");
  const Model outer(y, Dense({.units = 2, .name = "last"})(inner(y)));
  const Symbol bottom = outer.get_layer("bottom").output();
  const Model upper(bottom, outer.outputs().front());
  const Model after_inner(outer.get_layer("top").output(), outer.outputs().front());
  const Tensor input = random_tensor({5, 8}, 1);
  const Tensor expected = outer.predict(input);
  expect_same_bits(upper.predict(Model(y, bottom).predict(input)), expected);
  expect_same_bits(after_inner.predict(inner.predict(input)), expected);
  EXPECT_TRUE(upper.network().model_calls().empty());
  upper.save(folder / "upper.keras");
  expect_same_bits(load_model(folder / "upper.keras").predict(Model(y, bottom).predict(input)), expected);
}

TEST(InnerInput, CannotBeTheFirstOfTheResultsThatTheModelReads) {
  const Symbol x = Input({4, 3}, "x");
  const std::vector<Symbol> results = LSTM({.units = 2, .return_state = true}).results({x});
  EXPECT_ERROR(InvalidArgument, "whose input is the first result of a layer cannot use the layer's other results",
               Model(results[0], Add()({results[0], results[1]})));
  const Model of_state(results[1], Dense({.units = 1})(results[1]));
  EXPECT_EQ(of_state.predict(Tensor::zeros({3, 2})).shape(), (Shape{3, 1}));
}

}  // namespace
}  // namespace lockstep::test
