#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/symbol_operators.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/lambda.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/device_scope.h>

namespace lockstep::test {
namespace {

std::vector<std::string> names_of(const Network& network) {
  std::vector<std::string> names;
  for (const Layer& layer : network.layers()) names.push_back(layer.name());
  return names;
}

/// Returns both halves of its input's last axis.
struct Halves : LayerImpl {
  Halves() : LayerImpl("") {}
  std::string_view class_name() const override { return "Halves"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return {inputs[0][0] / 2}; }
  std::vector<Shape> more_output_shapes(std::span<const Shape> inputs) const override { return {output_shape(inputs)}; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const std::vector<Tensor> halves = split(inputs[0], 2, 1);
    asked_for_both = call.more_results != nullptr;
    if (asked_for_both) *call.more_results = {halves[1]};
    return halves[0];
  }
  bool asked_for_both = false;
};

TEST(Network, UsesAllResultsOfALayer) {
  const Symbol x = Input({6});
  const auto impl = std::make_shared<Halves>();
  const std::vector<Symbol> halves = Layer(impl).results({x});
  ASSERT_EQ(halves.size(), 2U);
  const Network network(std::vector{x}, {halves[1], ReLU()(halves[0]), Add()({halves[1], halves[0]})}, 0);
  const Tensor batch = test::random_tensor({4, 6}, 1);
  const std::vector<Tensor> parts = split(batch, 2, 1);
  const std::vector<Tensor> outputs = network.run({batch}, Mode::inference);
  test::expect_same_bits(outputs[0], parts[1]);
  test::expect_same_bits(outputs[1], maximum(parts[0], 0));
  test::expect_same_bits(outputs[2], parts[1] + parts[0]);
  EXPECT_THAT(network.output_names(), testing::ElementsAre("halves", "re_lu", "add"));
  EXPECT_THAT(network.summary("m"), testing::HasSubstr("halves[0][1]"));
}

TEST(Formulas, AreLayers) {
  const Symbol x = Input({2});
  const Symbol y = Input({2});
  const Symbol sum = (1 - x) * 2.0 + y / 4.0 - x * y;
  const Network network({x, y}, 3.0 - (-sum) + (2.0 * y - 1.0) + (0.5 + y + 1.5), 0);
  const Tensor result =
      network({Tensor::from<float>({2, -4}, {1, 2}), Tensor::from<float>({8, 1}, {1, 2})}, Mode::inference);
  EXPECT_EQ(result.to_vector<float>(), (std::vector<float>{3 - 16 + 15 + 10, 3 + 14.25F + 1 + 3}));
  EXPECT_THAT(names_of(network), testing::Contains("rescaling"));
  EXPECT_THAT(names_of(network), testing::Contains("subtract"));
  EXPECT_ERROR(InvalidArgument, "a symbol cannot be divided by 0", x / 0.0);
  EXPECT_ERROR(InvalidArgument, "a symbol cannot divide inf", INFINITY / x);
}

TEST(Formulas, DivideSymbols) {
  const Symbol x = Input({2});
  const Symbol y = Input({2});
  const Network network({x, y}, x / y + 3.0 / y, 0);
  const Tensor result =
      network({Tensor::from<float>({2, -4}, {1, 2}), Tensor::from<float>({8, -1}, {1, 2})}, Mode::inference);
  EXPECT_EQ(result.to_vector<float>(), (std::vector<float>{0.25F + 0.375F, 4 - 3}));
}

TEST(Network, AsksALayerOnlyForResultsThatAreUsed) {
  const Symbol x = Input({6});
  const auto impl = std::make_shared<Halves>();
  const Network network(x, Layer(impl).results({x})[0], 0);
  EXPECT_EQ(network.calls().size(), 1U);
  test::expect_same_bits(network(test::random_tensor({4, 6}, 1), Mode::inference),
                         split(test::random_tensor({4, 6}, 1), 2, 1)[0]);
  EXPECT_FALSE(impl->asked_for_both);
}

TEST(Network, KeepsTheResultsOfALayerInAnotherModel) {
  const Symbol x = Input({6});
  const std::vector<Symbol> halves = Layer(std::make_shared<Halves>()).results({x});
  const Network inner(std::vector{x}, {halves[1], halves[0]}, 0);
  const auto description = std::make_shared<const NestedModel>(keras_model(inner, "inner"));
  EXPECT_EQ(description->outputs[0].result, 1);
  const Symbol y = Input({6});
  const std::vector<Symbol> parts = inner.connect({y}, description);
  const Network outer(std::vector{y}, {parts[0], Add()({parts[0], parts[1]})}, 0);
  const Tensor batch = test::random_tensor({4, 6}, 1);
  test::expect_same_bits(outer.run({batch}, Mode::inference)[0], split(batch, 2, 1)[1]);
  const NestedModel described = keras_model(outer, "outer");
  EXPECT_EQ(described.outputs[0].result, 0) << "of the model";
  EXPECT_EQ(flat_keras_model(outer, "outer").outputs[0].result, 1) << "of the layer";
}

// Destroying a long chain must not recurse once per layer, which would overflow the stack.
TEST(Network, MayBeALongChain) {
  Symbol x = Input({1});
  const Flatten layer;
  for (int i = 0; i < 200'000; ++i) x = layer(x);
  EXPECT_EQ(x.shape(), Shape{1});
}

TEST(Network, NamesLayersAsKerasInTheOrderOfTheirCalls) {
  const Symbol x = Input({8, 8, 2});
  const Symbol a = Conv2D({.filters = 3, .kernel_size = {3, 3}, .padding = Padding::same})(x);
  const Symbol b = Conv2D({.filters = 4, .kernel_size = {1, 1}, .name = "mine"})(x);
  const Symbol c = Conv2D({.filters = 4, .kernel_size = {1, 1}})(x);
  const Symbol joined = Concatenate()({c, b, a});
  const Network network(x, Dense({.units = 2})(Flatten()(BatchNormalization()(joined))), 0);
  EXPECT_THAT(names_of(network), testing::ElementsAre("conv2d", "mine", "conv2d_1", "concatenate",
                                                      "batch_normalization", "flatten", "dense"));
  EXPECT_EQ(network.variables()[0].name(), "conv2d/kernel");
  EXPECT_EQ(network.input_shape(), (Shape{8, 8, 2}));
  EXPECT_EQ(network.output_shape(), Shape{2});
  EXPECT_EQ(network.variables().size(), 3 * 2 + 4 + 2U);
  EXPECT_EQ(network.trainable_variables().size(), 3 * 2 + 2 + 2U);
  EXPECT_EQ(network.count_params(), 57 + 12 + 12 + 44 + 1408 / 2 * 2 + 2);
}

TEST(Network, AutomaticNamesAvoidTheUsers) {
  const Symbol x = Input({4});
  const Symbol y = Dense({.units = 4, .name = "dense_1"})(x);
  const Network network(x, Dense({.units = 4})(Dense({.units = 4})(y)), 0);
  EXPECT_THAT(names_of(network), testing::ElementsAre("dense_1", "dense", "dense_2"));
}

TEST(Network, TheSeedDecidesTheWeights) {
  const auto kernels = [](std::uint64_t seed) {
    const Symbol x = Input({4});
    const Network network(x, Dense({.units = 4})(Dense({.units = 4})(x)), seed);
    return std::vector{network.variables()[0].value().to_vector<float>(),
                       network.variables()[2].value().to_vector<float>()};
  };
  EXPECT_EQ(kernels(1), kernels(1));
  EXPECT_NE(kernels(1)[0], kernels(2)[0]);
  EXPECT_NE(kernels(1)[0], kernels(1)[1]) << "layers of one model start alike";
}

TEST(Network, ALayerCalledTwiceSharesItsWeights) {
  const Symbol x = Input({4});
  const Dense twice({.units = 4, .activation = Activation::tanh});
  const Network network(x, twice(twice(x)), 0);
  ASSERT_EQ(network.layers().size(), 1U);
  EXPECT_EQ(network.count_params(), 4 * 4 + 4);
  const Tensor kernel = network.variables()[0].value();
  const Tensor bias = network.variables()[1].value();
  const Tensor batch = random_tensor({3, 4}, 1);
  const Tensor once = dense(batch, kernel, bias, Activation::tanh);
  expect_same_bits(network(batch, Mode::inference), dense(once, kernel, bias, Activation::tanh));

  GradientTape tape;
  const std::vector<Tensor> gradients = tape.gradient(sum(network(batch, Mode::train)), std::vector{kernel});
  EXPECT_TRUE(gradients[0].defined());
}

// In Keras' order, the farthest from the output first.
TEST(Network, AStatisticMovesInKerasOrderOfALayersCalls) {
  const BatchNormalization norm({.momentum = 0.5});
  const Symbol x = Input({1}, "x");
  const Symbol y = Input({1}, "y");
  const Symbol near = norm(x);
  const Network network({x, y}, Add()({Dense({.units = 1})(norm(y)), near}), 0);
  const std::vector<Tensor> batch{Tensor::from(std::vector{8.F, 8.F}, {2, 1}),
                                  Tensor::from(std::vector{32.F, 32.F}, {2, 1})};
  network(batch, Mode::train);
  const auto& weights = network.variables();
  const auto mean =
      std::ranges::find(weights, "batch_normalization/moving_mean", [](const Variable& v) { return v.name(); });
  ASSERT_NE(mean, weights.end());
  EXPECT_EQ(mean->value().to_vector<float>(), std::vector{0.5F * (0.5F * 32) + 0.5F * 8});
}

TEST(Network, ACallAtInferenceUsesTheStatisticsThatEarlierCallsMoved) {
  const BatchNormalization norm({.momentum = 0});
  const Symbol x = Input({1});
  const Symbol frozen = edited(norm(norm(x)), [](Symbol::Node& node) { node.mode = Mode::inference; });
  const Network network(x, frozen, 0);
  const Tensor batch = Tensor::from(std::vector{6.F, 10.F}, {2, 1});
  const Tensor gamma = Tensor::full({1}, 1);
  const Tensor beta = Tensor::zeros({1});
  const BatchNormResult first = batch_norm(batch, gamma, beta);
  expect_same_bits(network(batch, Mode::train), batch_norm_inference(first.y, gamma, beta, first.mean, first.variance));
}

TEST(Network, TwoNetworksMayShareALayer) {
  const Symbol x = Input({4});
  const Dense shared({.units = 4});
  const Symbol y = shared(x);
  const Network first(x, y, 1);
  const Network second(x, Dense({.units = 2})(y), 2);
  EXPECT_TRUE(first.variables()[0] == second.variables()[0]);
  EXPECT_THAT(names_of(second), testing::ElementsAre("dense", "dense_1"));
}

TEST(Network, RefusesADescriptionThatIsNoModel) {
  const Symbol x = Input({4});
  const Symbol other = Input({4}, "other");
  const Dense layer({.units = 4});
  EXPECT_ERROR(InvalidArgument, "depends on the input 'other', which is not among the model's inputs 'input_layer'",
               Network(x, Concatenate()({layer(x), layer(other)}), 0));
  const Dense named({.units = 4, .name = "same"});
  EXPECT_ERROR(InvalidArgument, "two layers of the model are named 'same'",
               Network(x, Dense({.units = 4, .name = "same"})(named(x)), 0));
  const Dense twice({.units = 5});
  EXPECT_ERROR(InvalidArgument, "built for 4 features, got (5)", Network(x, twice(twice(x)), 0));
  EXPECT_ERROR(InvalidArgument, "sizes of at least 1", Input({4, 0}));
}

// Keras numbers layers over all models, so that two unnamed heads never have the same name.
TEST(Network, NumbersUnnamedLayersOfSeveralModelsAgain) {
  const Symbol x = Input({4});
  const Symbol trunk = Dense({.units = 3})(x);
  const Network first(x, Dense({.units = 1})(trunk), 0);
  const Network second(x, Dense({.units = 2})(trunk), 1);
  const Network both({x}, {first.output_symbols()[0], second.output_symbols()[0]}, 0);
  std::vector<std::string> names;
  for (const Layer& layer : both.layers()) names.push_back(layer.name());
  EXPECT_THAT(names, testing::ElementsAre("dense", "dense_1", "dense_2"));
  EXPECT_EQ(second.layers()[1].name(), "dense_1");
  EXPECT_THAT(both.weight_names(), testing::Contains("dense_2/kernel"));
}

TEST(Network, KeepsAChosenNameAndRenamesTheUnnamedLayer) {
  const Symbol x = Input({4});
  const Symbol unnamed = Dense({.units = 3})(x);
  const Network first(x, unnamed, 0);
  const Network both({x}, {unnamed, Dense({.units = 3, .name = "dense"})(x)}, 0);
  EXPECT_EQ(both.layers()[0].name(), "dense_1");
  EXPECT_EQ(both.layers()[1].name(), "dense");
}

TEST(Network, RefusesWhatItCannotRun) {
  const Symbol x = Input({4});
  const Network network(x, Dense({.units = 2})(x), 0);
  EXPECT_ERROR(InvalidArgument, "takes batches of (4), got f32 (3, 5)",
               network(random_tensor({3, 5}, 1), Mode::inference));
  EXPECT_ERROR(InvalidArgument, "takes batches of (4), got an undefined tensor", network(Tensor(), Mode::inference));
  EXPECT_ERROR(InvalidArgument, "layer 'dense': ", network(Tensor::zeros({3, 4}, DType::i32), Mode::inference));
}

TEST(Network, TrainsOnlyInsideTheReplicasOfItsStrategy) {
  const MirroredStrategy strategy = mirrored(2);
  const Symbol x = Input({4});
  const Symbol y = Dense({.units = 2})(x);
  const Network network = strategy.scope([&] { return Network(x, y, 0); });
  EXPECT_TRUE(network.strategy() == strategy);
  const Tensor batch = random_tensor({3, 4}, 1);
  EXPECT_ERROR(LogicError, "trains inside strategy.run()", network(batch, Mode::train));
  const auto infer = [&] {
    const DeviceScope there(strategy.devices().front());  // on another device the last bits may differ
    return network(batch, Mode::inference);
  };
  const Tensor outside = infer();
  const PerReplica<Tensor> in_replicas = strategy.run([&] { return network(batch, Mode::train); });
  for (const Tensor& inside : in_replicas.local_results()) expect_same_bits(inside, outside);
  EXPECT_ERROR(InvalidArgument, "built under another strategy, with 2 copies of its weights instead of 1",
               Network(x, y, 0));
  EXPECT_ERROR(LogicError, "made outside the replicas", strategy.run([&] { Network(x, y, 0); }));
}

TEST(Network, RunsBatchesWithoutRows) {
  const Symbol x = Input({4, 4, 2});
  Symbol y = ActivationLayer(Activation::relu)(BatchNormalization()(x));
  y = Dense({.units = 3})(Flatten()(Dropout({.rate = 0.5})(y)));
  const Network network(x, y, 0);
  for (const Mode mode : {Mode::inference, Mode::train})
    EXPECT_EQ(network(Tensor::zeros({0, 4, 4, 2}), mode).shape(), (Shape{0, 3}));
}

TEST(Network, GivesSeveralOutputs) {
  const Symbol x = Input({4});
  const Symbol hidden = Dense({.units = 5, .activation = Activation::relu})(x);
  const Dense first({.units = 2});
  const Symbol a = first(hidden);
  const Symbol b = Dense({.units = 3})(a);
  const Network network(std::vector{x}, std::vector{b, hidden, a}, 0);
  const Tensor batch = test::random_tensor({6, 4}, 1);
  const std::vector<Tensor> outputs = network.run({batch}, Mode::inference);
  ASSERT_EQ(outputs.size(), 3U);
  const auto weight = [&](std::size_t i) { return network.variables()[i].value(); };
  test::expect_same_bits(outputs[1], dense(batch, weight(0), weight(1), Activation::relu));
  test::expect_same_bits(outputs[2], dense(outputs[1], weight(2), weight(3)));
  test::expect_same_bits(outputs[0], dense(outputs[2], weight(4), weight(5)));
  EXPECT_EQ(network.output_shape(), Shape{3});
  EXPECT_THAT([&] { network(batch, Mode::inference); },
              testing::ThrowsMessage<LogicError>(testing::HasSubstr("has 3 outputs")));
}

TEST(Network, GetsLayersByNameAndIndex) {
  const Symbol x = Input({4});
  const Dense twice({.units = 4, .name = "block_twice"});
  const Symbol y = twice(twice(Dense({.units = 4, .name = "block_1"})(x)));
  const Network network(x, Dense({.units = 2, .name = "head"})(y), 0);
  EXPECT_EQ(network.get_layer("head").name(), "head");
  EXPECT_EQ(network.get_layer(0).name(), "block_1");
  EXPECT_EQ(network.get_layer(-1).name(), "head");
  EXPECT_ERROR(InvalidArgument, "no layer of the model is named 'block_2'; similar names: block_1, block_twice, head",
               network.get_layer("block_2"));
  for (const int index : {3, -4})
    EXPECT_ERROR(InvalidArgument, fmt::format("the model has no layer {}: it has 3 layers, from 0", index),
                 network.get_layer(index));
  EXPECT_ERROR(LogicError, "layer 'block_twice' has no single output: the model calls it 2 times",
               network.get_layer("block_twice").output());
}

TEST(Network, OnInnerOutputsSharesTheirLayers) {
  const Symbol x = Input({6}, "x");
  const auto impl = std::make_shared<Halves>();
  const std::vector<Symbol> halves = Layer(impl).results({Dense({.units = 4, .name = "first"})(x)});
  const Network network(x, Dense({.units = 2})(Add()({halves[0], halves[1]})), 0);
  ASSERT_EQ(network.input_symbols().size(), 1U);
  const Network cut(network.input_symbols(), {network.get_layer("halves").output(), network.get_layer("add").output()},
                    1);
  EXPECT_THAT(names_of(cut), testing::ElementsAre("first", "halves", "add"));
  EXPECT_TRUE(cut.variables()[0] == network.variables()[0]);
  const Tensor batch = random_tensor({5, 6}, 1);
  const std::vector<Tensor> outputs = cut.run({batch}, Mode::inference);
  const Tensor first = dense(batch, network.variables()[0].value(), network.variables()[1].value());
  expect_same_bits(outputs[0], split(first, 2, 1)[0]);
  expect_same_bits(outputs[1], split(first, 2, 1)[0] + split(first, 2, 1)[1]);
}

// No op below the first trainable layer is recorded, so that there is no backward pass through a frozen bottom.
TEST(Network, RecordsNothingBelowTheTrainableLayers) {
  const Symbol x = Input({4});
  bool recorded = false;
  const Lambda probe([&](const Tensor& value) {
    recorded = recording({value});
    return value;
  });
  const Symbol bottom = BatchNormalization({.name = "norm"})(Dense({.units = 3, .name = "bottom"})(x));
  const Network network(x, Dense({.units = 2, .name = "top"})(probe(bottom)), 0);
  const auto gradient_of_top = [&] {
    GradientTape tape;
    const Tensor output = network(random_tensor({6, 4}, 1), Mode::train);
    const std::vector<Variable> top = network.get_layer("top").impl().variables();
    const std::vector<Tensor> sources{top[0].value(), network.get_layer("bottom").impl().variables()[0].value()};
    return tape.gradient(sum(output), sources);
  };
  EXPECT_TRUE(gradient_of_top()[1].defined());
  EXPECT_TRUE(recorded);
  for (const char* name : {"bottom", "norm"}) network.get_layer(name).impl().set_trainable(false);
  const std::vector<Tensor> gradients = gradient_of_top();
  EXPECT_TRUE(gradients[0].defined());
  EXPECT_FALSE(gradients[1].defined());
  EXPECT_FALSE(recorded);
  network.get_layer("norm").impl().set_trainable(true);
  EXPECT_FALSE(gradient_of_top()[1].defined());
  EXPECT_TRUE(recorded);
}

TEST(Network, NamesEachOutputOnce) {
  const Symbol x = Input({4});
  const Dense layer({.units = 4, .name = "a"});
  const Symbol a = layer(x);
  const Network network(std::vector{x}, std::vector{a, layer(a), Dense({.units = 4, .name = "a_1"})(a)}, 0);
  EXPECT_THAT(network.output_names(), testing::ElementsAre("a", "a_1", "a_1_1"));
}

TEST(Network, TrainsOnSeveralOutputs) {
  const Symbol x = Input({4});
  const Symbol hidden = Dense({.units = 5})(x);
  const Network network(std::vector{x}, std::vector{Dense({.units = 2})(hidden), Dense({.units = 3})(hidden)}, 0);
  std::vector<Tensor> weights;
  for (const Variable& variable : network.trainable_variables()) weights.push_back(variable.value());
  GradientTape tape;
  const std::vector<Tensor> outputs = network.run({test::random_tensor({6, 4}, 1)}, Mode::train);
  for (const Tensor& gradient : tape.gradient(sum(outputs[0]) + sum(outputs[1]), weights))
    EXPECT_TRUE(gradient.defined());
}

}  // namespace
}  // namespace lockstep::test
