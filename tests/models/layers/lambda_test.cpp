#include <algorithm>
#include <array>
#include <cstdint>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/lambda.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/runtime/autograd/tape.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

Tensor squares_of_first_half(const Tensor& x) { return square(slice(x, 1, 0, x.dim(1) / 2)); }

TEST(Lambda, CallsItsFunction) {
  const Lambda layer(squares_of_first_half);
  EXPECT_EQ(shape_after(layer, {{6, 2}}), (Shape{3, 2}));
  const Tensor x = random_tensor({4, 6, 2}, 1);
  expect_same_bits(call(layer, {x}), squares_of_first_half(x));
  EXPECT_EQ(call(layer, {Tensor::zeros({0, 6, 2})}).shape(), (Shape{0, 3, 2})) << "a replica without rows";
  EXPECT_EQ(shape_after(Lambda(squares_of_first_half, {.output_shape = Shape{9}}), {{6, 2}}), (Shape{9}));
}

TEST(Lambda, IsCalledOnNoLargeImagesToFindItsShape) {
  std::int64_t most = 0;
  const Lambda layer([&](const Tensor& x) {
    most = std::max(most, x.elements());
    return square(x);
  });
  EXPECT_EQ(layer(Input({-1, -1, 3})).shape(), (Shape{-1, -1, 3}));
  EXPECT_EQ(most, 0);
}

TEST(Lambda, OfLargeRowsMayRefuseToBeCalledWithoutRows) {
  const Lambda flat([](const Tensor& x) { return reshape(x, {x.dim(0), -1}); });  // throws for 0 rows
  EXPECT_EQ(shape_after(flat, {{4097, 4097}}), (Shape{4097 * 4097}));
  EXPECT_EQ(flat(Input({-1, 1280})).shape(), (Shape{-1}));
  EXPECT_ERROR(InvalidArgument, "with 0 rows; set output_shape: 0 elements do not divide into shape (0, -1)",
               shape_after(flat, {{8192, 8192, 8}}));
}

TEST(Lambda, OfSeveralInputsIsALayerOfNetworks) {
  const Symbol x = Input({3});
  const Symbol y = Input({3});
  const Lambda product([](std::span<const Tensor> in) { return in[0] * in[1]; }, {.name = "product"});
  const Network network({x, y}, product({x, y}), 0);
  const Tensor a = random_tensor({2, 3}, 1);
  const Tensor b = random_tensor({2, 3}, 2);
  GradientTape tape;
  tape.watch(a);
  const Tensor result = network({a, b}, Mode::train);
  expect_same_bits(result, a * b);
  expect_same_bits(tape.gradient(sum(result), std::array{a}).front(), b);
  EXPECT_ERROR(Unsupported,
               "files of whole models cannot hold layer 'product', a Lambda; derive a class from LayerImpl",
               product.get_config());
}

TEST(Lambda, RefusesWhatIsNotALayer) {
  EXPECT_ERROR(InvalidArgument, "Lambda needs a function", Lambda(std::function<Tensor(const Tensor&)>()));
  EXPECT_ERROR(InvalidArgument, "the function of Lambda takes one tensor, got 2",
               shape_after(Lambda(squares_of_first_half), {{2}, {2}}));
  EXPECT_ERROR(InvalidArgument, "the function of Lambda must return a row for each row of its input f32 (1, 2)",
               shape_after(Lambda([](const Tensor& x) { return sum(x); }), {{2}}));
}

}  // namespace
}  // namespace lockstep::test
