#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/regularizers.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>

// Models used as parts of other models.

namespace lockstep::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> layer_names(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.network().layers()) names.push_back(layer.name());
  return names;
}

Model encoder(const std::string& name, std::uint64_t seed) {
  const Symbol x = Input({8});
  return Model(x, Dense({.units = 4})(Dense({.units = 6, .activation = Activation::relu})(x)),
               {.name = name, .seed = seed});
}

TEST(ModelInAModel, GivesWhatOneAfterTheOtherGives) {
  const Model first = encoder("first", 1);
  const Symbol x = Input({8});
  const Symbol y = Input({4});
  const Model second(y, Dense({.units = 8})(y), {.name = "second", .seed = 2});
  const Model both(x, second(first(x)));
  const Tensor batch = random_tensor({5, 8}, 1);
  expect_same_bits(both(batch), second(first(batch)));
  EXPECT_EQ(both.variables().size(), 6U);
  EXPECT_TRUE(both.variables()[0] == first.variables()[0]);
}

TEST(ModelInAModel, DrawsOtherRandomNumbersThanTheLayersAroundIt) {
  const Symbol x = Input({8});
  const Model inner(x, Dense({.units = 8})(x));
  const Symbol y = Input({8});
  const Model outer(y, Dense({.units = 8})(inner(Dense({.units = 8})(y))));
  std::vector<std::vector<float>> kernels;
  for (const Layer& layer : outer.network().layers())
    kernels.push_back(layer.impl().variables().front().value().to_vector<float>());
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_NE(kernels[0], kernels[1]);
  EXPECT_NE(kernels[1], kernels[2]);
  EXPECT_NE(kernels[0], kernels[2]);
}

TEST(ModelInAModel, PutsItsNameBeforeThatOfALayerWhoseNameIsTaken) {
  const Symbol x = Input({8});
  const Model a = encoder("a", 1);
  const Model b = encoder("b", 2);
  const Symbol joined = Concatenate()({a(x), b(x), Dense({.units = 2})(x)});
  const Model model(x, Dense({.units = 1, .name = "dense"})(joined));
  EXPECT_THAT(layer_names(model),
              ElementsAre("a_dense", "dense_1", "b_dense", "b_dense_1", "dense_2", "concatenate", "dense"));
  EXPECT_THAT(layer_names(a), ElementsAre("dense", "dense_1"));
}

TEST(ModelInAModel, CalledTwiceSharesItsLayers) {
  const Model shared = encoder("shared", 1);
  const Symbol x = Input({8}, "x");
  const Symbol y = Input({8}, "y");
  const Model model({x, y}, Concatenate()({shared(x), shared(y)}));
  EXPECT_EQ(model.count_params(), shared.count_params());
  const Tensor one = random_tensor({3, 8}, 1);
  const Tensor other = random_tensor({3, 8}, 2);
  const std::vector<Tensor> parts{shared(one), shared(other)};
  expect_same_bits(model({one, other}), concatenate(parts, 1));
}

TEST(ModelInAModel, OfSeveralInputsAndOutputsIsConnectedByRun) {
  const Symbol a = Input({8}, "a");
  const Symbol b = Input({8}, "b");
  const Symbol sum = Add()({a, b});
  const Model inner({a, b}, {Dense({.units = 3})(sum), sum}, {.name = "inner"});
  const Symbol x = Input({8});
  EXPECT_ERROR(LogicError, "'inner' has 2 outputs: use run()", inner({x, x}));
  const Model model({x}, inner.run({x, x}));
  const Tensor batch = random_tensor({3, 8}, 1);
  const std::vector<Tensor> expected = inner.run({batch, batch});
  const std::vector<Tensor> outputs = model.run({batch});
  for (std::size_t i = 0; i < 2; ++i) expect_same_bits(outputs[i], expected[i]);
}

// As in Keras: layers whose results are not used still have weights, penalties and statistics.
TEST(ModelInAModel, IsThereAsAWholeWhicheverResultsAreRead) {
  const Symbol a = Input({8}, "a");
  const Symbol b = Input({8}, "b");
  const Symbol unread = Dense({.units = 3, .kernel_regularizer = L2(0.5), .name = "unread"})(
      BatchNormalization({.momentum = 0.5, .name = "norm"})(b));
  const Model inner({a, b}, {Dense({.units = 4, .name = "read"})(a), unread}, {.name = "inner"});
  const Symbol middle = Input({8}, "middle");
  const Model around(middle, inner.run({middle, middle})[0], {.name = "around"});
  const Symbol x = Input({8}, "x");
  Model model(x, Dense({.units = 3, .name = "last"})(around(x)));
  EXPECT_THAT(layer_names(model), testing::UnorderedElementsAre("read", "norm", "unread", "last"));
  const SmallProblem problem(12);
  model.compile(SGD({.learning_rate = 0.1}), SparseCategoricalCrossentropy({.from_logits = true}));
  const auto before = weights_of(inner);
  model.fit(problem.dataset().batch(12));
  const auto after = weights_of(inner);
  for (std::size_t i = 0; i < inner.variables().size(); ++i) {
    const bool moves = inner.variables()[i].name() != "norm/gamma" && inner.variables()[i].name() != "norm/beta" &&
                       inner.variables()[i].name() != "unread/bias";
    EXPECT_EQ(after[i] != before[i], moves) << inner.variables()[i].name();
  }
}

TEST(ModelInAModel, IsTrainedAndSavedAsPartOfIt) {
  const TemporaryFolder folder;
  const MirroredStrategy strategy = mirrored(3);
  const SmallProblem problem(23);
  const auto scope = strategy.scope();
  const Model trunk = encoder("trunk", 1);
  const Symbol x = Input({8});
  Model model(x, Dense({.units = 3})(trunk(x)), {.name = "classifier"});
  const auto before = weights_of(trunk);
  model.compile(SGD({.learning_rate = 0.1}), SparseCategoricalCrossentropy({.from_logits = true}));
  const History history = model.fit(problem.dataset().batch(6), {.epochs = 3});
  EXPECT_LT(history.values.at("loss").back(), history.values.at("loss").front());
  EXPECT_NE(weights_of(trunk), before);
  for (const char* name : {"model.keras", "model.h5"}) {
    save_model(model, folder / name);
    const Model loaded = load_model(folder / name);
    expect_same_bits(loaded(problem.x), model(problem.x));
    EXPECT_EQ(layer_names(loaded), layer_names(model));
  }
}

/// Two models whose layers have automatic names: each has a "dense".
Model two_of_one_name(std::uint64_t seed) {
  const Model first = encoder("first", seed);
  const Symbol x = Input({8});
  const Symbol y = Input({4});
  return Model(x, Model(y, Dense({.units = 3})(y), {.name = "second", .seed = seed + 1})(first(x)));
}

TEST(ModelInAModel, HasNamesOfItsOwnForWeightsWhoseLayersHaveOneName) {
  const Model model = two_of_one_name(1);
  EXPECT_THAT(model.network().weight_names(), ElementsAre("dense/kernel", "dense/bias", "dense_1/kernel",
                                                          "dense_1/bias", "second_dense/kernel", "second_dense/bias"));
}

TEST(ModelInAModel, KeepsWeightsOfOneNameInFilesOfWeights) {
  const TemporaryFolder folder;
  const Model saved = two_of_one_name(1);
  for (const char* file : {"model.safetensors", "model.weights.h5"}) {
    saved.save_weights(folder / file);
    Model loaded = two_of_one_name(5);
    loaded.load_weights(folder / file);
    EXPECT_EQ(weights_of(loaded), weights_of(saved)) << file;
  }
}

TEST(ModelInAModel, KeepsWhatItsOptimizerKnowsOfWeightsOfOneName) {
  const TemporaryFolder folder;
  const Dataset data = SmallProblem(12).dataset().batch(4);
  for (const char* file : {"model.keras", "model.h5"}) {
    Model model = two_of_one_name(1);
    model.compile(Adam(), SparseCategoricalCrossentropy({.from_logits = true}));
    model.fit(data);
    model.save(folder / file);
    Model loaded = load_model(folder / file);
    loaded.fit(data);
    model.fit(data);
    EXPECT_EQ(weights_of(loaded), weights_of(model)) << file;
  }
}

// The structure that Keras creates for these models; tests/interop compares with Keras itself.
TEST(ModelInAModel, HasGroupsOfItsOwnInFilesOfWeights) {
  const TemporaryFolder folder;
  const Model inner = Sequential({4}, {Dense({.units = 3})}, {.name = "inner"});
  const Symbol a = Input({4}, "a");
  const Model middle(a, Dense({.units = 2})(inner(a)), {.name = "middle"});
  const Symbol x = Input({4}, "x");
  const Symbol y = Input({4}, "y");
  const Symbol left = middle(Dense({.units = 4})(x));
  const Symbol right = middle(y);
  const Model model({x, y}, std::vector{Add()({left, right}), left, right}, {.name = "outer"});
  EXPECT_THAT(model.network().output_names(), ElementsAre("add", "middle", "middle_1"));
  model.save_weights(folder / "model.weights.h5");
  const hdf5::Reader file(folder / "model.weights.h5");
  EXPECT_THAT(file.names_in("layers"), ElementsAre("add", "dense", "functional", "input_layer", "input_layer_1"));
  EXPECT_THAT(file.names_in("layers/functional/layers"), ElementsAre("dense", "input_layer", "sequential"));
  EXPECT_EQ(file.attribute("layers/functional/vars", "name").front(), "middle");
  EXPECT_EQ(file.shape_of("layers/functional/layers/sequential/layers/dense/vars/0"), (Shape{4, 3}));
  EXPECT_FALSE(file.has_group("layers/functional/layers/sequential/layers/input_layer"));
  const auto before = weights_of(model);
  for (const Variable& variable : model.variables()) variable.assign(Tensor::zeros(variable.shape()));
  Model(model).load_weights(folder / "model.weights.h5");
  EXPECT_EQ(weights_of(model), before);
}

// The files contain the models flattened.
TEST(ModelInAModel, TakesItsWeightsFromFilesOfWholeModels) {
  const TemporaryFolder folder;
  Model model = two_of_one_name(1);
  model.save(folder / "model.h5");
  const auto before = weights_of(model);
  for (const Variable& variable : model.variables()) variable.assign(Tensor::zeros(variable.shape()));
  model.load_weights(folder / "model.h5");
  EXPECT_EQ(weights_of(model), before);
}

TEST(ModelInAModel, OpenedFromAFileHasItsGroupsToo) {
  const std::string text = R"({"class_name": "Functional", "config": {"name": "outer", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [null, 3]}, "inbound_nodes": []},
    {"class_name": "Sequential", "name": "s", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 3]}},
      {"class_name": "Dense", "config": {"name": "d", "units": 2}}]},
     "inbound_nodes": [[["x", 0, 0, {}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["s", 1, 0]]}})";
  const SymbolicModel opened = model_from_config(nlohmann::ordered_json::parse(text));
  const Network network(opened.inputs, opened.outputs, 0);
  const TemporaryFolder folder;
  save_weights(network, folder / "model.weights.h5");
  EXPECT_TRUE(hdf5::Reader(folder / "model.weights.h5").has_group("layers/sequential/layers/dense/vars"));
}

TEST(ModelInAModel, ThatIsCutGivesItsLayersToTheNewModel) {
  const TemporaryFolder folder;
  const Symbol x = Input({8});
  const Model inner = encoder("inner", 1);
  const Model outer(x, Dense({.units = 2, .name = "top"})(inner(x)), {.name = "outer"});
  const std::string first = "dense";
  EXPECT_ERROR(InvalidArgument,
               "'inner' is a model inside this one; its layers are layers of this model, such as 'dense'",
               outer.get_layer("inner"));
  const Symbol features = outer.get_layer(first).output();
  // One model has the inner model's result, too: then its inner result is read from outside.
  for (const std::vector<Symbol>& outputs :
       {std::vector{features}, std::vector{features, outer.get_layer("dense_1").output()}}) {
    const Model cut(outer.inputs(), outputs, {.name = "cut"});
    EXPECT_TRUE(cut.network().model_calls().empty());
    EXPECT_TRUE(cut.variables()[0] == inner.variables()[0]);
    const Tensor batch = random_tensor({3, 8}, 1);
    const std::vector<Tensor> expected = cut.run({batch});
    EXPECT_EQ(expected.size(), outputs.size());
    expect_same_bits(expected[0], Model(inner.inputs(), inner.get_layer(first).output())(batch));
    if (outputs.size() == 2) expect_same_bits(expected[1], inner(batch));
    cut.save(folder / "cut.keras");
    expect_same_bits(load_model(folder / "cut.keras").run({batch})[0], expected[0]);
  }
  const Model whole(outer.inputs(), outer.get_layer("dense_1").output(), {.name = "whole"});
  EXPECT_EQ(whole.network().model_calls().size(), 1U);
}

TEST(ModelInAModel, ThatIsCutLeavesOutLayersWithoutUse) {
  const TemporaryFolder folder;
  const Symbol s = Input({8});
  const Symbol a = Dense({.units = 4, .name = "a"})(Dense({.units = 4, .name = "feature"})(s));
  const Model two({s}, {a, Dense({.units = 3, .name = "b"})(s)}, {.name = "two"});
  const Symbol z = Input({8});
  const Model around(z, Dense({.units = 2, .name = "last"})(two.run({z})[0]));
  const Model part({z}, {around.get_layer("feature").output(), around.get_layer("last").output()});
  std::vector<std::string> names;
  for (const Layer& layer : part.network().layers()) names.push_back(layer.name());
  EXPECT_THAT(names, testing::ElementsAre("feature", "a", "last"));
  part.save(folder / "part.keras");
  EXPECT_EQ(load_model(folder / "part.keras").variables().size(), part.variables().size());
}

TEST(ModelInAModel, RefusesSymbolsThatDoNotFit) {
  const Model model = encoder("encoder", 1);
  EXPECT_ERROR(InvalidArgument, "input 'input_layer' of 'encoder' takes (8), got (5)", model(Input({5})));
  EXPECT_ERROR(InvalidArgument, "'encoder' takes 1 inputs, got 2", model({Input({8}), Input({8})}));
}

}  // namespace
}  // namespace lockstep::test
