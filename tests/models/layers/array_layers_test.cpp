#include <lockstep/kernels/ops/array.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(ActivationLayer, AppliesTheFunction) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  expect_same_bits(call(ActivationLayer(Activation::relu), {x}), relu(x));
  expect_same_bits(call(ActivationLayer(Activation::tanh), {x}), tanh(x));
  EXPECT_EQ(shape_after(ActivationLayer(Activation::tanh), {{3, 4}}), (Shape{3, 4}));
  EXPECT_TRUE(ActivationLayer(Activation::relu).impl().is_relu());
  EXPECT_FALSE(ActivationLayer(Activation::sigmoid).impl().is_relu());
}

TEST(Flatten, KeepsTheBatchAxis) {
  EXPECT_EQ(shape_after(Flatten(), {{3, 4, 5}}), Shape{60});
  EXPECT_EQ(call(Flatten(), {random_tensor({2, 3, 4}, 1)}).shape(), (Shape{2, 12}));
  EXPECT_EQ(call(Flatten(), {Tensor::zeros({0, 3, 4})}).shape(), (Shape{0, 12})) << "a replica without rows";
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

}  // namespace
}  // namespace lockstep::test
