#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op_kinds.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;

double apply(Activation activation, double z) {
  switch (activation) {
    case Activation::linear:
      return z;
    case Activation::relu:
      return std::max(0.0, z);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    default:
      ADD_FAILURE() << "activations_test.cpp has the others";
      return 0;
  }
}

struct Case {
  std::int64_t rows, inputs, units;
  Activation activation = Activation::linear;
  bool bias = true;
};

std::vector<double> plain_dense(const Case& c, const std::vector<std::vector<double>>& in) {
  std::vector<double> y;
  for (std::int64_t row = 0; row < c.rows; ++row)
    for (std::int64_t unit = 0; unit < c.units; ++unit) {
      double sum = c.bias ? in[2][static_cast<std::size_t>(unit)] : 0;
      for (std::int64_t k = 0; k < c.inputs; ++k)
        sum +=
            in[0][static_cast<std::size_t>(row * c.inputs + k)] * in[1][static_cast<std::size_t>(k * c.units + unit)];
      y.push_back(apply(c.activation, sum));
    }
  return y;
}

void check_case(const Case& c) {
  SCOPED_TRACE(Shape({c.rows, c.inputs, c.units, static_cast<int>(c.activation)}).text());
  const Shape bias_shape{c.units};
  const std::vector<Tensor> inputs =
      c.bias ? std::vector<Tensor>{random_tensor({c.rows, c.inputs}, 1), random_tensor({c.inputs, c.units}, 2),
                                   random_tensor(bias_shape, 3)}
             : std::vector<Tensor>{random_tensor({c.rows, c.inputs}, 1), random_tensor({c.inputs, c.units}, 2)};
  check_gradients(
      [&](std::span<const Tensor> in) { return dense(in[0], in[1], c.bias ? in[2] : Tensor(), c.activation); },
      [&](const std::vector<std::vector<double>>& in) { return plain_dense(c, in); }, inputs,
      {.length = std::max({c.rows, c.inputs, c.units})});
}

TEST(Dense, EqualsPlainLoops) {
  const std::vector<Case> cases{
      {4, 3, 5},
      {1, 1, 1, Activation::sigmoid},
      {7, 17, 3, Activation::relu},
      {16, 32, 8, Activation::tanh},
      {5, 8, 1, Activation::sigmoid},
      {3, 300, 2, Activation::relu, false},
      {33, 5, 16, Activation::linear, false},
  };
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ComputeThreadsScope scope(threads);
    for (const Case& c : cases) check_case(c);
  }
}

struct Results {
  Tensor y, dx, dkernel, dbias;
};

Results run(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  GradientTape tape;
  const std::array sources{x, kernel, bias};
  for (const Tensor& source : sources) tape.watch(source);
  const Tensor y = dense(x, kernel, bias, Activation::relu);
  const auto gradients = tape.gradient(sum(square(y)), sources);
  return {y, gradients[0], gradients[1], gradients[2]};
}

void expect_same(const Results& a, const Results& b) {
  expect_same_bits(a.y, b.y);
  expect_same_bits(a.dx, b.dx);
  expect_same_bits(a.dkernel, b.dkernel);
  expect_same_bits(a.dbias, b.dbias);
}

TEST(Dense, GivesTheSameBitsAgain) {
  const Tensor x = random_tensor({130, 70}, 1);
  const Tensor kernel = random_tensor({70, 90}, 2);
  const Tensor bias = random_tensor({90}, 3);
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    expect_same(run(x, kernel, bias), run(x, kernel, bias));
  }
}

TEST(Dense, DataGradientOfManyRowsHasTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({1444, 364}, 1);
  const Tensor kernel = random_tensor({364, 364}, 2);
  const Tensor bias = random_tensor({364}, 3);
  const auto dx_with = [&](int threads) {
    const ComputeThreadsScope scope(threads);
    return run(x, kernel, bias).dx;
  };
  const Tensor dx = dx_with(1);
  for (const int threads : {2, 3}) expect_same_bits(dx_with(threads), dx);
}

TEST(Dense, ReadsSlices) {
  const Tensor x = random_tensor({6, 7}, 1);
  const Tensor kernel = random_tensor({7, 4}, 2);
  const Tensor bias = random_tensor({4}, 3);
  expect_same(run(x, kernel, bias), run(strided_copy(x), kernel, bias));
}

TEST(Dense, KeepsNan) {
  const Tensor x = Tensor::full({2, 7}, std::nanf(""));
  for (const Activation activation :
       {Activation::linear, Activation::relu, Activation::relu6, Activation::leaky_relu, Activation::elu,
        Activation::selu, Activation::sigmoid, Activation::tanh, Activation::exponential})
    EXPECT_THAT(dense(x, random_tensor({7, 4}, 2), {}, activation).to_vector<float>(), Each(IsNan()))
        << static_cast<int>(activation);
}

TEST(Dense, GradientOfXReplacesOrIsAddedToWhatIsThere) {
  for (const std::int64_t rows : {1, 15, 16, 200})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << name(dtype));
      const Tensor kernel = cast(random_tensor({48, 20}, 2), dtype);
      const Tensor dy = cast(random_tensor({rows, 20}, 4), dtype);
      const Tensor alone = cast(Tensor::full({rows, 48}, std::nanf("")), dtype);
      launch(kernels::DenseGradientX{dy, kernel, Write::replace, alone});
      const Tensor sum = cast(random_tensor({rows, 48}, 5), dtype);
      std::vector<double> expected = sum.to_vector<double>();
      launch(kernels::DenseGradientX{dy, kernel, Write::add, sum});
      std::ranges::transform(expected, alone.to_vector<double>(), expected.begin(), std::plus<>());
      expect_close(sum, expected, 20);
    }
}

TEST(Dense, BiasAloneMayBeTrained) {
  const Tensor x = random_tensor({6, 7}, 1);
  const Tensor kernel = random_tensor({7, 4}, 2);
  const Tensor bias = random_tensor({4}, 3);
  GradientTape tape;
  tape.watch(bias);
  const Tensor y = dense(x, kernel, bias, Activation::relu);
  const Tensor dbias = tape.gradient(sum(square(y)), std::array{bias})[0];
  expect_close(dbias, run(x, kernel, bias).dbias.to_vector<double>(), 6);
}

TEST(Dense, NoRowsGiveZeroGradients) {
  const Results result = run(random_tensor({0, 7}, 1), random_tensor({7, 4}, 2), random_tensor({4}, 3));
  EXPECT_EQ(result.y.shape(), Shape({0, 4}));
  EXPECT_EQ(result.dx.shape(), Shape({0, 7}));
  expect_same_bits(result.dkernel, Tensor::zeros({7, 4}));
  expect_same_bits(result.dbias, Tensor::zeros({4}));
}

TEST(Dense, NamesShapesThatDoNotFit) {
  const Tensor x = random_tensor({6, 7}, 1);
  const Tensor kernel = random_tensor({7, 4}, 2);
  EXPECT_THAT(error_of<InvalidArgument>([&] { dense(random_tensor({7}, 1), kernel, {}); }),
              HasSubstr("dense: x must be f32 or bf16 (n, inputs), got f32 (7)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                dense(x, random_tensor({8, 4}, 2), {});
              }),
              HasSubstr("the kernel for x (6, 7) must be f32 (7, units), got f32 (8, 4)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { dense(x, kernel, random_tensor({5}, 3)); }),
              HasSubstr("the bias for kernel (7, 4) must be f32 (4), got f32 (5)"));
}

}  // namespace
}  // namespace lockstep::test
