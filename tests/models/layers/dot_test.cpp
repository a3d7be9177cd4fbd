#include <array>
#include <cmath>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/dot.h>
#include <lockstep/runtime/autograd/tape.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Dot, SumsOverAnAxisOfEachInput) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor y = random_tensor({2, 4, 5}, 2);
  const Dot layer({.axes = {2, 1}});
  EXPECT_EQ(shape_after(layer, {{3, 4}, {4, 5}}), (Shape{3, 5}));
  expect_same_bits(call(layer, {x, y}), einsum("abc,acd->abd", x, y));
  expect_same_bits(call(Dot({.axes = {-1, -2}}), {x, y}), einsum("abc,acd->abd", x, y));
  EXPECT_EQ(shape_after(Dot({.axes = {1}}), {{3, 4}, {3, 5, 6}}), (Shape{4, 5, 6}));
}

TEST(Dot, OfVectorsIsOneNumberForEachExample) {
  const Tensor x = random_tensor({2, 3}, 1);
  const Tensor y = random_tensor({2, 3}, 2);
  EXPECT_EQ(shape_after(Dot(), {{3}, {3}}), (Shape{1}));
  expect_close(call(Dot(), {x, y}), sum(x * y, {1}, true).to_vector<double>(), 3);
}

TEST(Dot, NormalizesToTheCosine) {
  const Tensor x = Tensor::from<float>({3, 4, 0, 0}, {2, 2});
  const Tensor y = Tensor::from<float>({8, -6, 1, 2}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor cosines = call(Dot({.normalize = true}), {x, y});
  expect_close(cosines, {0, 0}, 2, 1);
  const Tensor parallel = call(Dot({.normalize = true}), {y, y * 2.0});
  expect_close(parallel, {1, 1}, 2);
  const Tensor short_one = Tensor::from<float>({1e-8F, 0}, {1, 2});  // is divided by 1e-7, as in Keras
  expect_close(call(Dot({.normalize = true}), {short_one, Tensor::from<float>({1, 0}, {1, 2})}), {0.1}, 2);
  const Tensor dx = tape.gradient(sum(cosines), std::array{x})[0];
  for (const float value : dx.to_vector<float>()) EXPECT_TRUE(std::isfinite(value)) << "a vector of zeros has no NaN";
}

TEST(Dot, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "Dot needs one or two axes that are not the batch axis, 0, got (0)",
               Dot({.axes = {0}}));
  EXPECT_ERROR(InvalidArgument, "Dot needs one or two axes that are not the batch axis, 0, got ()", Dot({.axes = {}}));
  EXPECT_ERROR(InvalidArgument, "Dot can sum over any axis but the batch axis, got 4294967297 for (batch) + (4)",
               shape_after(Dot({.axes = {(std::int64_t{1} << 32) + 1}}), {{4}, {4}}));
  EXPECT_ERROR(InvalidArgument, "Dot takes two inputs, got 1", shape_after(Dot(), {{3}}));
  EXPECT_ERROR(InvalidArgument, "Dot needs axes of one size, got 3 and 4 in (3) and (4)",
               shape_after(Dot(), {{3}, {4}}));
  EXPECT_ERROR(InvalidArgument, "Dot can sum over any axis but the batch axis, got -2 for (batch) + (3)",
               shape_after(Dot({.axes = {-2}}), {{3}, {3}}));
}

}  // namespace
}  // namespace lockstep::test
