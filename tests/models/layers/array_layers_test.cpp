#include <array>
#include <limits>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/runtime/autograd/tape.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(ActivationLayer, AppliesTheFunction) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  expect_same_bits(call(ActivationLayer(Activation::relu), {x}), relu(x));
  expect_same_bits(call(ActivationLayer(Activation::tanh), {x}), tanh(x));
  EXPECT_EQ(shape_after(ActivationLayer(Activation::tanh), {{3, 4}}), (Shape{3, 4}));
  EXPECT_TRUE(ActivationLayer(Activation::relu).impl().traits().is_relu);
  EXPECT_FALSE(ActivationLayer(Activation::sigmoid).impl().traits().is_relu);
}

TEST(ActivationLayer, KerasLayersOfSingleFunctions) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  expect_same_bits(call(ReLU(), {x}), relu(x));
  expect_same_bits(call(LeakyReLU(), {x}), leaky_relu(x, 0.3));
  expect_same_bits(call(LeakyReLU({.negative_slope = 0.1}), {x}), leaky_relu(x, 0.1));
  expect_same_bits(call(ELU({.alpha = 2}), {x}), elu(x, 2));
  expect_same_bits(call(Softmax(), {x}), softmax(x));
  EXPECT_TRUE(ReLU().impl().traits().is_relu);
  EXPECT_FALSE(LeakyReLU().impl().traits().is_relu);
  EXPECT_EQ(ReLU().impl().class_name(), "ReLU");
  EXPECT_EQ(shape_after(Softmax(), {{3, 4}}), (Shape{3, 4}));
  EXPECT_ERROR(InvalidArgument, "LeakyReLU needs a negative_slope of at least 0, got -1",
               LeakyReLU({.negative_slope = -1}));
  EXPECT_ERROR(InvalidArgument, "ELU needs an alpha of at least 0, got -1", ELU({.alpha = -1}));
}

TEST(ReLU, HasABoundAndASlope) {
  const Tensor x = random_tensor({2, 3, 4}, 1, -8, 8);
  expect_same_bits(call(ReLU({.max_value = 6}), {x}), relu6(x));
  expect_same_bits(call(ReLU({.max_value = 2}), {x}), minimum(relu(x), 2));
  expect_same_bits(call(ReLU({.negative_slope = 0.25}), {x}), leaky_relu(x, 0.25));
  expect_same_bits(call(ReLU({.max_value = 2, .negative_slope = 0.25}), {x}), minimum(leaky_relu(x, 0.25), 2));
  for (const ReLUOptions& options : {ReLUOptions{.max_value = 6}, ReLUOptions{.negative_slope = 0.25}})
    EXPECT_FALSE(ReLU(options).impl().traits().is_relu) << "it cannot be fused as a ReLU";
  EXPECT_ERROR(InvalidArgument, "of at least 0, got -1, 0 and 0", ReLU({.max_value = -1}));
  EXPECT_ERROR(InvalidArgument, "of at least 0, got 0, -1 and 0", ReLU({.negative_slope = -1}));
  EXPECT_ERROR(InvalidArgument, "a max_value, a negative_slope and a threshold of at least 0, got 0, 0 and -1",
               ReLU({.threshold = -1}));
}

// The numbers of Keras' documentation, and those around the threshold.
TEST(ReLU, HasAThreshold) {
  const Tensor x = Tensor::from(std::vector<float>{-10, -5, 0, 4.5, 5, 5.5, 10}, {7});
  const auto results = [&](const ReLUOptions& options) { return call(ReLU(options), {x}).to_vector<float>(); };
  EXPECT_THAT(results({.threshold = 5}), testing::ElementsAre(0, 0, 0, 0, 0, 5.5F, 10));
  EXPECT_THAT(results({.max_value = 6, .threshold = 5}), testing::ElementsAre(0, 0, 0, 0, 0, 5.5F, 6));
  EXPECT_THAT(results({.max_value = 6, .negative_slope = 0.5, .threshold = 5}),
              testing::ElementsAre(-7.5F, -5, -2.5F, -0.25F, 0, 5.5F, 6));
  EXPECT_FALSE(ReLU({.threshold = 5}).impl().traits().is_relu) << "it cannot be fused as a ReLU";
}

TEST(PReLU, HasASlopeForEachElement) {
  const PReLU layer = built(PReLU({.alpha_initializer = constant(0.25)}), {{2}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/alpha (2)"));
  EXPECT_THAT(weight(built(PReLU(), {{2}}), 0).to_vector<float>(), testing::ElementsAre(0, 0));
  const Tensor x = Tensor::from(std::vector<float>{-4, 3, 0, -1}, {2, 2});
  const Tensor alpha = weight(layer, 0);
  GradientTape tape;
  for (const Tensor& source : {x, alpha}) tape.watch(source);
  const Tensor y = call(layer, {x});
  EXPECT_THAT(y.to_vector<float>(), testing::ElementsAre(-1, 3, 0, -0.25F));
  const std::vector<Tensor> gradients = tape.gradient(sum(y), std::array{x, alpha});
  EXPECT_THAT(gradients[0].to_vector<float>(), testing::ElementsAre(0.25F, 1, 0, 0.25F));
  EXPECT_THAT(gradients[1].to_vector<float>(), testing::ElementsAre(-4, -1));
  EXPECT_ERROR(InvalidArgument, "PReLU 'layer' was built for an alpha of (2), got (3)", shape_after(layer, {{3}}));
}

TEST(PReLU, SharesSlopesAlongAxes) {
  const PReLU layer = built(PReLU({.alpha_initializer = constant(0.5), .shared_axes = {1, 2}}), {{4, 5, 3}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/alpha (1, 1, 3)"));
  EXPECT_EQ(shape_after(layer, {{7, 6, 3}}), (Shape{7, 6, 3})) << "the sizes of shared axes may change";
  const Tensor x = random_tensor({2, 4, 5, 3}, 1);
  expect_same_bits(call(layer, {x}), relu(x) - relu(-x) * 0.5);
  EXPECT_ERROR(InvalidArgument, "PReLU needs axes behind the batch axis, got (1, 3) for (4, 5)",
               shape_after(PReLU({.shared_axes = {1, 3}}), {{4, 5}}));
  EXPECT_ERROR(InvalidArgument, "PReLU needs axes behind the batch axis, got (-2) for (4, 5)",
               shape_after(PReLU({.shared_axes = {-2}}), {{4, 5}}));
}

// Keras takes number i of the axes as element i - 1 of the shape without the batch axis.
TEST(PReLU, CountsNegativeAxesAsKeras) {
  const auto alpha = [](const std::vector<int>& axes) {
    return weights_of(built(PReLU({.shared_axes = axes}), {{4, 5, 3}})).at(0);
  };
  EXPECT_EQ(alpha({0}), "layer/alpha (4, 5, 1)");
  EXPECT_EQ(alpha({-1}), "layer/alpha (4, 1, 3)");
  EXPECT_EQ(alpha({-2}), "layer/alpha (1, 5, 3)");
  EXPECT_EQ(alpha({3, 0, 1}), "layer/alpha (1, 5, 1)");
}

TEST(Softmax, IsOverAnyAxes) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  expect_same_bits(call(Softmax({.axis = {1}}), {x}), softmax(x, {1}));
  expect_same_bits(call(Softmax({.axis = {-2, 2}}), {x}), softmax(x, {1, 2}));
  for (const int last : {-1, 2}) {
    const Softmax layer({.axis = {last}});
    EXPECT_EQ(call(layer, {x}, {.is_output = true}).origin("softmax").id(), x.id()) << "losses need the logits";
    EXPECT_FALSE(call(layer, {x}).origin("softmax").defined());
  }
  EXPECT_ERROR(InvalidArgument, "Softmax needs different axes behind the batch axis, got (0) for (3, 4)",
               shape_after(Softmax({.axis = {0}}), {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "behind the batch axis, got () for (3)", shape_after(Softmax({.axis = {}}), {{3}}));
}

TEST(Softmax, TakesAMask) {
  const Tensor x = Tensor::from<float>({1, 2, 1, 5, 5, 5}, {2, 1, 3});
  const Tensor mask = Tensor::from<float>({1, 0.5, 0.75, 0, 0, 0}, {2, 1, 3});
  const Softmax layer;
  EXPECT_THAT(call(layer, {x, mask}).to_vector<float>(), testing::ElementsAre(0.5, 0, 0.5, 0, 0, 0));
  expect_same_bits(call(layer, {x, greater(mask, 0.5)}), call(layer, {x, mask}));
  EXPECT_EQ(shape_after(layer, {{4, 3}, {1, 3}}), (Shape{4, 3}));
  const std::string refusal =
      "Softmax takes an input and, at most, a mask of the same axes, which broadcasts to it, got ";
  EXPECT_ERROR(InvalidArgument, refusal + "(4, 3) and (3)", shape_after(layer, {{4, 3}, {3}}));
  EXPECT_ERROR(InvalidArgument, refusal + "(1, 3) and (4, 3)", shape_after(layer, {{1, 3}, {4, 3}}));
  EXPECT_ERROR(InvalidArgument, refusal + "(3) and (3) and (3)", shape_after(layer, {{3}, {3}, {3}}));
}

TEST(Permute, GivesAxesInAnotherOrder) {
  const Permute layer({.dims = {3, 1, 2}});
  EXPECT_EQ(shape_after(layer, {{3, 4, 5}}), (Shape{5, 3, 4}));
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  expect_same_bits(call(layer, {x}), transpose(x, {0, 3, 1, 2}));
  EXPECT_ERROR(InvalidArgument, "the numbers from 1 to 2 in some order, got (0, 1)", Permute({.dims = {0, 1}}));
  EXPECT_ERROR(InvalidArgument, "the numbers from 1 to 2 in some order, got (1, 1)", Permute({.dims = {1, 1}}));
  EXPECT_ERROR(InvalidArgument, "Permute with dims (3, 1, 2) takes 3 axes, got (3, 4)", shape_after(layer, {{3, 4}}));
}

TEST(Reshape, FindsOutOneSize) {
  const Reshape layer({.target_shape = {4, -1}});
  EXPECT_EQ(shape_after(layer, {{2, 3, 6}}), (Shape{4, 9}));
  const Tensor x = random_tensor({5, 2, 3, 6}, 1);
  expect_same_bits(call(layer, {x}), x.view({5, 4, 9}));
  EXPECT_EQ(shape_after(Reshape({.target_shape = {}}), {{1, 1}}), Shape{});
  EXPECT_ERROR(InvalidArgument, "cannot make (5, -1) of (2, 3, 6), which has 36 elements",
               shape_after(Reshape({.target_shape = {5, -1}}), {{2, 3, 6}}));
  EXPECT_ERROR(InvalidArgument, "one size, marked by -1", Reshape({.target_shape = {-1, -1}}));
  EXPECT_ERROR(InvalidArgument, "at least 1, or one -1", Reshape({.target_shape = {-2}}));
}

TEST(Reshape, RefusesSizesWhoseProductOverflows) {
  const Reshape layer({.target_shape = {1 << 30, 1 << 30, 1 << 30, -1}});
  EXPECT_ERROR(InvalidArgument, "has more than 2^63 - 1 elements", layer(Input({4})));
}

TEST(ZeroPadding2D, SurroundsImages) {
  EXPECT_EQ(shape_after(ZeroPadding2D(), {{3, 4, 5}}), (Shape{5, 6, 5}));
  const Borders2d padding(1, 2, 3, 4);
  EXPECT_EQ(shape_after(ZeroPadding2D({.padding = padding}), {{3, 4, 5}}), (Shape{6, 11, 5}));
  EXPECT_EQ(shape_after(ZeroPadding2D({.padding = {2}}), {{3, 4, 5}}), (Shape{7, 8, 5}));
  EXPECT_EQ(shape_after(ZeroPadding2D({.padding = {1, 2}}), {{3, 4, 5}}), (Shape{5, 8, 5}));
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  expect_same_bits(call(ZeroPadding2D({.padding = padding}), {x}), zero_pad2d(x, padding));
  EXPECT_ERROR(InvalidArgument, "padding of at least 0, got (-1, 0), (0, 0)",
               ZeroPadding2D({.padding = {-1, 0, 0, 0}}));
}

TEST(ZeroPadding1D, SurroundsSequences) {
  EXPECT_EQ(shape_after(ZeroPadding1D(), {{3, 5}}), (Shape{5, 5}));
  const ZeroPadding1D layer({.padding = {1, 2}});
  EXPECT_EQ(shape_after(layer, {{3, 5}}), (Shape{6, 5}));
  const Tensor x = random_tensor({2, 3, 5}, 1);
  const Tensor y = call(layer, {x});
  expect_same_bits(y.slice_view(1, 1, 4), x);
  EXPECT_THAT(y.slice_view(1, 0, 1).to_vector<float>(), testing::Each(0));
  EXPECT_THAT(y.slice_view(1, 4, 6).to_vector<float>(), testing::Each(0));
  EXPECT_ERROR(InvalidArgument, "padding of at least 0, got (-1, 0)", ZeroPadding1D({.padding = {-1, 0}}));
  EXPECT_ERROR(InvalidArgument, "ZeroPadding1D takes sequences (steps, features), got (5)", shape_after(layer, {{5}}));
}

TEST(Cropping1D, RemovesSteps) {
  EXPECT_EQ(shape_after(Cropping1D(), {{5, 2}}), (Shape{3, 2}));
  const Cropping1D layer({.cropping = {2, 1}});
  const Tensor x = random_tensor({2, 5, 3}, 1);
  EXPECT_EQ(shape_after(layer, {{5, 3}}), (Shape{2, 3}));
  expect_same_bits(call(layer, {x}), x.slice_view(1, 2, 4));
  EXPECT_ERROR(InvalidArgument, "cropping of at least 0, got (-1, 0)", Cropping1D({.cropping = {-1, 0}}));
  EXPECT_ERROR(InvalidArgument, "Cropping1D of (2, 1) leaves nothing of (3, 4)", shape_after(layer, {{3, 4}}));
}

TEST(Cropping2D, RemovesBorders) {
  const Cropping2D layer({.cropping = {1, 0, 2, 1}});
  EXPECT_EQ(shape_after(layer, {{3, 5, 4}}), (Shape{2, 2, 4}));
  EXPECT_EQ(shape_after(Cropping2D({.cropping = {1}}), {{3, 4, 5}}), (Shape{1, 2, 5}));
  const Tensor x = random_tensor({2, 3, 5, 4}, 1);
  expect_same_bits(call(layer, {x}), x.slice_view(1, 1, 3).slice_view(2, 2, 4));
  EXPECT_ERROR(InvalidArgument, "Cropping2D of (1, 2), (0, 0) leaves nothing of (3, 4, 5)",
               shape_after(Cropping2D({.cropping = {1, 2, 0, 0}}), {{3, 4, 5}}));
  EXPECT_ERROR(InvalidArgument, "cropping of at least 0, got (-1, 0), (0, 0)", Cropping2D({.cropping = {-1, 0, 0, 0}}));
}

const std::vector<Tensor> parts{random_tensor({2, 3, 4}, 1), random_tensor({2, 3, 4}, 2), random_tensor({2, 3, 4}, 3)};

TEST(MergingLayers, CombineInputsOfOneShape) {
  const std::vector<Shape> shapes(3, {3, 4});
  for (const Layer& layer : std::vector<Layer>{Add(), Average(), Maximum(), Minimum(), Multiply()}) {
    EXPECT_EQ(shape_after(layer, shapes), (Shape{3, 4}));
    EXPECT_ERROR(InvalidArgument, "at least two inputs, got 1", shape_after(layer, {{3}}));
  }
  expect_same_bits(call(Add(), parts), add_n(parts));
  expect_same_bits(call(Average(), parts), add_n(parts) / 3);
  expect_same_bits(call(Maximum(), parts), maximum(maximum(parts[0], parts[1]), parts[2]));
  expect_same_bits(call(Minimum(), parts), minimum(minimum(parts[0], parts[1]), parts[2]));
  expect_same_bits(call(Multiply(), parts), parts[0] * parts[1] * parts[2]);
  expect_same_bits(call(Subtract(), {parts[0], parts[1]}), parts[0] - parts[1]);
  EXPECT_ERROR(InvalidArgument, "Subtract takes two inputs, got 3", shape_after(Subtract(), shapes));
  EXPECT_TRUE(Add().impl().traits().is_add);
  EXPECT_FALSE(Average().impl().traits().is_add);
}

TEST(MergingLayers, BroadcastTheShapesOfExamples) {
  EXPECT_EQ(shape_after(Multiply(), {{3, 4}, {4}, {3, 1}}), (Shape{3, 4}));
  EXPECT_EQ(shape_after(Subtract(), {{4}, {2, 3, 1}}), (Shape{2, 3, 4}));
  EXPECT_ERROR(InvalidArgument, "Add: shapes (3, 4) and (3) do not broadcast", shape_after(Add(), {{3, 4}, {3}}));
  const Tensor row = random_tensor({2, 4}, 4);
  const Tensor rows = row.view({2, 1, 4});
  expect_same_bits(call(Add(), {parts[0], row}), parts[0] + rows);
  expect_same_bits(call(Average(), {row, parts[0]}), (rows + parts[0]) / 2);
  expect_same_bits(call(Maximum(), {parts[0], row}), maximum(parts[0], rows));
  expect_same_bits(call(Minimum(), {parts[0], row}), minimum(parts[0], rows));
  expect_same_bits(call(Multiply(), {parts[0], row}), parts[0] * rows);
  expect_same_bits(call(Subtract(), {row, parts[0]}), rows - parts[0]);
}

TEST(Concatenate, JoinsAnyAxisButTheBatch) {
  const Concatenate rows({.axis = 1});
  EXPECT_EQ(shape_after(rows, {{3, 4}, {2, 4}}), (Shape{5, 4}));
  EXPECT_EQ(shape_after(Concatenate({.axis = -2}), {{3, 4}, {2, 4}}), (Shape{5, 4}));
  EXPECT_EQ(rows.impl().traits().concatenated_axis, 1);
  EXPECT_EQ(Concatenate().impl().traits().concatenated_axis, -1);
  const Tensor a = random_tensor({2, 3, 4}, 1);
  const Tensor b = random_tensor({2, 2, 4}, 2);
  const Tensor y = call(rows, {a, b});
  expect_same_bits(y.slice_view(1, 0, 3), a);
  expect_same_bits(y.slice_view(1, 3, 5), b);
  EXPECT_ERROR(InvalidArgument, "any axis but the batch axis", Concatenate({.axis = 0}));
  EXPECT_ERROR(InvalidArgument, "no axis 3 to join in (batch) + (3, 4)",
               shape_after(Concatenate({.axis = 3}), {{3, 4}, {3, 4}}));
  EXPECT_ERROR(InvalidArgument, "all but the joined axis, got (3, 4) and (3, 5)", shape_after(rows, {{3, 4}, {3, 5}}));
}

TEST(Flatten, KeepsTheBatchAxis) {
  EXPECT_EQ(shape_after(Flatten(), {{3, 4, 5}}), Shape{60});
  EXPECT_EQ(call(Flatten(), {random_tensor({2, 3, 4}, 1)}).shape(), (Shape{2, 12}));
}

TEST(Concatenate, JoinsTheLastAxis) {
  EXPECT_EQ(shape_after(Concatenate(), {{3, 4, 5}, {3, 4, 2}, {3, 4, 1}}), (Shape{3, 4, 8}));
  const Tensor a = random_tensor({2, 3, 5}, 1);
  const Tensor b = random_tensor({2, 3, 2}, 2);
  const Tensor y = call(Concatenate(), {a, b});
  expect_same_bits(y.slice_view(-1, 0, 5), a);
  expect_same_bits(y.slice_view(-1, 5, 7), b);
}

TEST(Concatenate, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "at least two inputs, got 1", shape_after(Concatenate(), {{3}}));
  EXPECT_ERROR(InvalidArgument, "got (3, 4) and (2, 4)", shape_after(Concatenate(), {{3, 4}, {2, 4}}));
  EXPECT_ERROR(InvalidArgument, "got (3, 4) and (4)", shape_after(Concatenate(), {{3, 4}, {4}}));
}

TEST(PaddingAndCropping, RefuseSizesBeyond64Bits) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_ERROR(InvalidArgument, "ZeroPadding1D of (3, 4): a result of 9223372036854775808 elements along an axis",
               shape_after(ZeroPadding1D({.padding = {1, huge}}), {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "ZeroPadding2D of (3, 4, 5): a result of ",
               shape_after(ZeroPadding2D({.padding = {0, 0, huge, huge}}), {{3, 4, 5}}));
  EXPECT_ERROR(InvalidArgument, "leaves nothing of (3, 4)",
               shape_after(Cropping1D({.cropping = {huge, huge}}), {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "leaves nothing of (3, 4, 5)",
               shape_after(Cropping2D({.cropping = {0, 0, huge, huge}}), {{3, 4, 5}}));
  EXPECT_ERROR(InvalidArgument, "pad takes widths below 2^61", pad(Tensor::zeros({1}), {{huge, 0}}));
}

}  // namespace
}  // namespace lockstep::test
