#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <gmock/gmock.h>
#include <kernels/cases/activations.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(Activations, ByNameAreTheirOps) {
  const Tensor x = random_tensor({3, 17}, 1, -3, 3);
  for (const ActivationCase& c : activations_of_elements()) expect_same_bits(activate(x, c.activation), c.op(x));
  expect_same_bits(activate(x, Activation::softmax), softmax(x));
  expect_same_bits(activate(x, Activation::log_softmax), log_softmax(x));
  EXPECT_EQ(activate(x, Activation::linear).id(), x.id());
}

TEST(Activations, RefuseParametersOutOfRange) {
  const Tensor x = random_tensor({3, 5}, 1);
  EXPECT_ERROR(InvalidArgument, "negative_slope of at least 0, got -1", leaky_relu(x, -1));
  EXPECT_ERROR(InvalidArgument, "alpha of at least 0, got -1", elu(x, -1));
  for (const double alpha : {0.0, 1e-46, 1e39, std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(InvalidArgument, "celu takes an alpha of 1e-30 to 1e30, got ", celu(x, alpha));
  EXPECT_ERROR(InvalidArgument, "squareplus takes a b of 1e-30 to 1e30, got 0", squareplus(x, 0));
  EXPECT_ERROR(InvalidArgument, "a max_value and a threshold of at least 0, got 0, -1 and 0", relu(x, 0, -1));
  EXPECT_ERROR(InvalidArgument, "hard_shrink takes a threshold of at least 0, got -1", hard_shrink(x, -1));
  EXPECT_ERROR(InvalidArgument, "soft_shrink takes a threshold of at least 0, got -1", soft_shrink(x, -1));
}

TEST(Activations, LogSoftmaxOfLargeLogitsDoesNotOverflow) {
  EXPECT_THAT(log_softmax(Tensor::from<float>({1000, 1000, -1000}, {3})).to_vector<float>(),
              ::testing::Pointwise(::testing::FloatEq(), {-std::log(2.0F), -std::log(2.0F), -2000 - std::log(2.0F)}));
}

TEST(Activations, OfDenseMayBeSoftmax) {
  const Tensor x = random_tensor({4, 6}, 1);
  const Tensor kernel = random_tensor({6, 5}, 2);
  expect_same_bits(dense(x, kernel, {}, Activation::softmax), softmax(dense(x, kernel, {})));
}

/// The derivative of `op` at x.
template <class Op>
float slope_at(const Op& op, float x) {
  const Tensor at = Tensor::full({1}, x);
  GradientTape tape;
  tape.watch(at);
  return tape.gradient(sum(op(at)), std::array{at}).front().template item<float>();
}

// As in tensorflow/core/kernels/relu_op_functor.h; elu with another alpha, and hard_sigmoid, as Keras composes them of
// these.
TEST(Activations, GradientsWhereSlopesMeetAreTensorFlows) {
  EXPECT_EQ(slope_at([](const Tensor& x) { return relu(x); }, 0), 0);
  EXPECT_EQ(slope_at(relu6, 0), 0);
  EXPECT_EQ(slope_at(relu6, 6), 0);
  EXPECT_EQ(slope_at([](const Tensor& x) { return leaky_relu(x, 0.25); }, 0), 0.25);
  EXPECT_EQ(slope_at([](const Tensor& x) { return elu(x); }, 0), 1);
  EXPECT_EQ(slope_at([](const Tensor& x) { return elu(x, 2.5); }, 0), 2.5);
  EXPECT_FLOAT_EQ(slope_at(selu, 0), 1.05070099F);
  EXPECT_EQ(slope_at(hard_sigmoid, -3), 0);
  EXPECT_EQ(slope_at(hard_sigmoid, 3), 0);
  EXPECT_EQ(slope_at(hard_tanh, 1), 0);
}

TEST(Elementary, ExpSigmoidAndTanhAreWithinTwoUnitsInTheLastPlace) {
  std::vector<float> values;
  for (double x = -103; x < 88.7; x += 0.00917) values.push_back(static_cast<float>(x));
  const Tensor x = Tensor::from(values, {static_cast<std::int64_t>(values.size())});
  const auto worst = [&](const Tensor& y, auto reference) {
    double units = 0;
    const std::vector<float> results = y.to_vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = reference(static_cast<double>(values[i]));
      const auto rounded = static_cast<float>(std::abs(exact));
      const double unit = static_cast<double>(std::nextafter(rounded, INFINITY)) - static_cast<double>(rounded);
      units = std::max(units, std::abs(static_cast<double>(results[i]) - exact) / unit);
    }
    return units;
  };
  EXPECT_LE(worst(exp(x), [](double v) { return std::exp(v); }), 2);
  EXPECT_LE(worst(tanh(x), [](double v) { return std::tanh(v); }), 2);
  // Below -88 e^-x overflows and the result is 0, where the exact one is denormal.
  const Tensor inner = x.slice_view(0, x.elements() / 8, x.elements());
  values.erase(values.begin(), values.begin() + x.elements() / 8);
  EXPECT_LE(worst(sigmoid(inner), [](double v) { return 1 / (1 + std::exp(-v)); }), 3);
}

TEST(Elementary, LimitsAndNanAreKept) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({-infinity, infinity, std::nanf(""), -200.0F, 200.0F}, {5});
  const auto y = exp(x).to_vector<float>();
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], infinity);
  EXPECT_THAT(tanh(x).to_vector<float>(), ::testing::ElementsAre(-1, 1, ::testing::IsNan(), -1, 1));
  EXPECT_THAT(sigmoid(x).to_vector<float>(), ::testing::ElementsAre(0, 1, ::testing::IsNan(), 0, 1));
  for (const ActivationCase& c : activations_of_elements())
    EXPECT_TRUE(std::isnan(c.op(x).to_vector<float>()[2])) << c.name;
}

TEST(Elementary, NothingCancelsNearZeroAndNothingOverflows) {
  for (const float x : {-1e-3F, -1e-5F, -1e-10F}) {
    const Tensor in = Tensor::full({1}, x);
    EXPECT_FLOAT_EQ(elu(in).item<float>(), std::expm1(x));
    EXPECT_FLOAT_EQ(gelu(in).item<float>(), 0.5F * x * std::erfc(-x / std::numbers::sqrt2_v<float>));
  }
  EXPECT_FLOAT_EQ(softplus(Tensor::full({1}, -20)).item<float>(), std::log1p(std::exp(-20.0F)));
  EXPECT_EQ(softplus(Tensor::full({1}, 1000)).item<float>(), 1000);
  EXPECT_EQ(log_sigmoid(Tensor::full({1}, -1000)).item<float>(), -1000);
  EXPECT_EQ(mish(Tensor::full({1}, 1000)).item<float>(), 1000);
  EXPECT_FLOAT_EQ(squareplus(Tensor::full({1}, -1e4)).item<float>(), 1e-4F);
  for (const double x : {1.6e4, 1.7e4, 1e20, 3e38}) {
    EXPECT_FLOAT_EQ(squareplus(Tensor::full({1}, x)).item<float>(), static_cast<float>(x));
    EXPECT_NEAR(squareplus(Tensor::full({1}, -x)).item<float>() * x, 1, 1e-6) << x;
  }
  EXPECT_EQ(elu(Tensor::full({1}, 1000)).item<float>(), 1000);
  for (const float x : {10.0F, 1e20F, 3e38F}) {
    const auto gelu_tanh = [](const Tensor& in) { return gelu(in, true); };
    EXPECT_EQ(slope_at(gelu_tanh, x), 1) << x;
    EXPECT_EQ(slope_at(gelu_tanh, -x), 0) << x;
  }
}

}  // namespace
}  // namespace lockstep::test
