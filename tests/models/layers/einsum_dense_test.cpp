#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/models/layers/einsum_dense.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(EinsumDense, HasKerasWeights) {
  const EinsumDense heads =
      built(EinsumDense({.equation = "abc,cde->abde", .output_shape = {-1, 4, 5}, .bias_axes = "de"}), {{7, 6}});
  EXPECT_THAT(weights_of(heads), testing::ElementsAre("layer/kernel (6, 4, 5)", "layer/bias (4, 5)"));
  EXPECT_EQ(shape_after(heads, {{7, 6}}), (Shape{7, 4, 5}));
  EXPECT_EQ(shape_after(heads, {{3, 6}}), (Shape{3, 4, 5})) << "axes that the kernel does not have may change";
  const EinsumDense first =
      built(EinsumDense({.equation = "abc,cd->abd", .output_shape = {3, 5}, .bias_axes = "b"}), {{3, 6}});
  EXPECT_THAT(weights_of(first), testing::ElementsAre("layer/kernel (6, 5)", "layer/bias (3, 1)"));
  const EinsumDense plain = built(EinsumDense({.equation = "ab,bc->ac", .output_shape = {5}}), {{6}});
  EXPECT_THAT(weights_of(plain), testing::ElementsAre("layer/kernel (6, 5)"));
}

TEST(EinsumDense, TakesAxesThatHaveNoLetters) {
  const EinsumDense last =
      built(EinsumDense({.equation = "...x,xy->...y", .output_shape = {5}, .bias_axes = "y"}), {{2, 3, 4}});
  EXPECT_THAT(weights_of(last), testing::ElementsAre("layer/kernel (4, 5)", "layer/bias (5)"));
  EXPECT_EQ(shape_after(last, {{2, 3, 4}}), (Shape{2, 3, 5}));
  EXPECT_EQ(shape_after(last, {{4}}), (Shape{5}));
  const EinsumDense first =
      built(EinsumDense({.equation = "ab...,bc->ac...", .output_shape = {5}, .bias_axes = "c"}), {{2, 3, 4}});
  EXPECT_THAT(weights_of(first), testing::ElementsAre("layer/kernel (2, 5)", "layer/bias (5, 1, 1)"));
  EXPECT_EQ(shape_after(first, {{2, 3, 4}}), (Shape{5, 3, 4}));
  EXPECT_EQ(call(first, {random_tensor({6, 2, 3, 4}, 1)}).shape(), (Shape{6, 5, 3, 4}));
}

TEST(EinsumDense, IsDenseOfTheLastAxis) {
  for (const Activation activation : {Activation::linear, Activation::relu, Activation::softmax}) {
    const EinsumDense layer = built(
        EinsumDense({.equation = "abc,cd->abd", .output_shape = {-1, 5}, .activation = activation, .bias_axes = "d"}),
        {{3, 4}});
    layer.impl().variables()[1].assign(random_tensor({5}, 1));
    const Tensor x = random_tensor({2, 3, 4}, 2);
    expect_close(call(layer, {x}), dense(x, weight(layer, 0), weight(layer, 1), activation).to_vector<double>(), 4);
  }
}

TEST(EinsumDense, RefusesWhatItCannotTake) {
  for (const char* equation : {"", "ab", "ab,bc", "ab->ac", "ab,bc->", "ab,bc->ad", "ab,bd->ac", "aa,ab->ab",
                               "a1,1b->ab", "ab,bc->ca", "ab,abc->ac", "...ab,bc->ac", "...ab,bc->ac..."})
    EXPECT_ERROR(InvalidArgument, "EinsumDense needs an equation such as 'ab,bc->ac'",
                 EinsumDense({.equation = equation, .output_shape = {3}}));
  EXPECT_ERROR(InvalidArgument, "bias_axes of the result of 'ab,bc->ac', got 'b'",
               EinsumDense({.equation = "ab,bc->ac", .output_shape = {3}, .bias_axes = "b"}));
  const EinsumDense layer({.equation = "abc,cd->abd", .output_shape = {3, 5}});
  EXPECT_ERROR(InvalidArgument, "'abc,cd->abd' does not fit the axes of (batch) + (4)", shape_after(layer, {{4}}));
  EXPECT_ERROR(InvalidArgument, "'...ab,bc->...cb' does not fit the axes of (batch) + (3)",
               shape_after(EinsumDense({.equation = "...ab,bc->...cb", .output_shape = {3}}), {{3}}));
  EXPECT_ERROR(InvalidArgument, "output_shape (3, 5) does not fit the sizes of (2, 4)", shape_after(layer, {{2, 4}}));
  built(layer, {{3, 4}});
  EXPECT_ERROR(InvalidArgument, "was built with a kernel (4, 5), and the input (3, 6) needs (6, 5)",
               shape_after(layer, {{3, 6}}));
  EXPECT_ERROR(InvalidArgument, "needs an output_shape without the batch axis and those of '...', got (5)",
               shape_after(EinsumDense({.equation = "abc,cd->abd", .output_shape = {5}}), {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "needs a size for the axis 'd' in its output_shape, got (3, -1)",
               shape_after(EinsumDense({.equation = "abc,cd->abd", .output_shape = {3, -1}}), {{3, 4}}));
}

TEST(EinsumDense, TakesKerasOptions) {
  const EinsumDense layer = built(EinsumDense({.equation = "ab,bc->ac",
                                               .output_shape = {5},
                                               .bias_axes = "c",
                                               .kernel_initializer = constant(0.5),
                                               .bias_initializer = ones,
                                               .kernel_regularizer = L2(0.1)}),
                                  {{7}});
  expect_same_bits(weight(layer, 0), Tensor::full({7, 5}, 0.5));
  expect_same_bits(weight(layer, 1), Tensor::full({5}, 1));
  EXPECT_FLOAT_EQ(layer.impl().regularization_loss().item<float>(), 0.1F * 35 * 0.25F);
}

}  // namespace
}  // namespace lockstep::test
