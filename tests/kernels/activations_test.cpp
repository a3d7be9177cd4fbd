#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double elu_of(double x) { return x > 0 ? x : std::expm1(x); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

struct ElementwiseCase {
  const char* name;
  Activation activation;
  std::function<Tensor(const Tensor&)> op;
  double (*reference)(double);
};

void PrintTo(const ElementwiseCase& c, std::ostream* out) { *out << c.name; }

const ElementwiseCase elementwise_cases[] = {
    {"linear", Activation::linear, [](const Tensor& x) { return x; }, [](double x) { return x; }},
    {"relu", Activation::relu, relu, [](double x) { return std::max(x, 0.0); }},
    {"relu6", Activation::relu6, relu6, [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
    {"leaky_relu", Activation::leaky_relu, [](const Tensor& x) { return leaky_relu(x); },
     [](double x) { return x > 0 ? x : 0.2 * x; }},
    {"elu", Activation::elu, [](const Tensor& x) { return elu(x); }, elu_of},
    {"selu", Activation::selu, selu,
     [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
    {"gelu", Activation::gelu, [](const Tensor& x) { return gelu(x); },
     [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }},
    {"gelu_tanh", Activation::gelu_tanh, [](const Tensor& x) { return gelu(x, true); }, gelu_tanh_of},
    {"sigmoid", Activation::sigmoid, sigmoid, logistic},
    {"hard_sigmoid", Activation::hard_sigmoid, hard_sigmoid,
     [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"keras_2_hard_sigmoid", Activation::keras_2_hard_sigmoid,
     [](const Tensor& x) { return activate(x, Activation::keras_2_hard_sigmoid); },
     [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
    {"silu", Activation::silu, silu, [](double x) { return x * logistic(x); }},
    {"softplus", Activation::softplus, softplus, [](double x) { return std::log1p(std::exp(x)); }},
    {"softsign", Activation::softsign, softsign, [](double x) { return x / (1 + std::abs(x)); }},
    {"tanh", Activation::tanh, tanh, [](double x) { return std::tanh(x); }},
    {"exponential", Activation::exponential, exp, [](double x) { return std::exp(x); }},
};

class ElementwiseActivation : public ::testing::TestWithParam<ElementwiseCase> {
 protected:
  static std::vector<double> apply(const std::vector<double>& x) {
    std::vector<double> y;
    for (const double value : x) y.push_back(GetParam().reference(value));
    return y;
  }
};

TEST_P(ElementwiseActivation, EqualsItsDefinition) {
  // 8 covers relu6's upper end; the exponential would dwarf its own small values there.
  const double high = GetParam().activation == Activation::exponential ? 2 : 8;
  for (const Shape& shape : {Shape{1}, Shape{17}, Shape{3, 5, 7}, Shape{0, 4}}) {
    const Tensor x = random_tensor(shape, 1, -4, high);
    for (const Tensor& in : {x, shape.rank() > 1 ? strided_copy(x) : x}) {
      check_gradients([&](std::span<const Tensor> t) { return GetParam().op(t[0]); },
                      [&](const auto& t) { return apply(t[0]); }, {in});
      expect_same_bits(activate(in, GetParam().activation), GetParam().op(in));
    }
  }
}

TEST_P(ElementwiseActivation, OfDenseAndConv2d) {
  const Tensor x = random_tensor({5, 7}, 1, -1, 1);
  const Tensor kernel = random_tensor({7, 3}, 2);
  const Tensor bias = random_tensor({3}, 3);
  check_gradients([&](std::span<const Tensor> in) { return dense(in[0], in[1], in[2], GetParam().activation); },
                  [&](const std::vector<std::vector<double>>& in) {
                    std::vector<double> z;
                    for (std::size_t row = 0; row < 5; ++row)
                      for (std::size_t unit = 0; unit < 3; ++unit) {
                        z.push_back(in[2][unit]);
                        for (std::size_t k = 0; k < 7; ++k) z.back() += in[0][row * 7 + k] * in[1][k * 3 + unit];
                      }
                    return apply(z);
                  },
                  {x, kernel, bias}, {.length = 7});
  // The same product as a convolution of single pixels.
  const Tensor expected = dense(x, kernel, bias, GetParam().activation);
  const Tensor pixels =
      conv2d(x.view({5, 1, 1, 7}), kernel.view({1, 1, 7, 3}), bias, {.activation = GetParam().activation});
  expect_close(pixels, expected.to_vector<double>(), 7);
  const auto gradients = [&](const auto& run) {
    GradientTape tape;
    tape.watch(kernel);
    return tape.gradient(sum(square(run())), std::array{kernel})[0];
  };
  const Tensor of_dense = gradients([&] { return dense(x, kernel, bias, GetParam().activation); });
  const Tensor of_conv = gradients([&] {
    return conv2d(reshape(x, {5, 1, 1, 7}), reshape(kernel, {1, 1, 7, 3}), bias, {.activation = GetParam().activation});
  });
  expect_close(of_conv, of_dense.to_vector<double>(), 5 * 7);
}

INSTANTIATE_TEST_SUITE_P(Each, ElementwiseActivation, ::testing::ValuesIn(elementwise_cases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Activations, TakeTheirParameters) {
  const Tensor x = random_tensor({3, 5}, 1, -3, 3);
  check_gradients([](std::span<const Tensor> in) { return leaky_relu(in[0], 0.7); },
                  [](const auto& in) {
                    std::vector<double> y;
                    for (const double v : in[0]) y.push_back(v > 0 ? v : 0.7 * v);
                    return y;
                  },
                  {x});
  check_gradients([](std::span<const Tensor> in) { return elu(in[0], 2.5); },
                  [](const auto& in) {
                    std::vector<double> y;
                    for (const double v : in[0]) y.push_back(v > 0 ? v : 2.5 * std::expm1(v));
                    return y;
                  },
                  {x});
  EXPECT_ERROR(InvalidArgument, "negative_slope of at least 0, got -1", leaky_relu(x, -1));
  EXPECT_ERROR(InvalidArgument, "alpha of at least 0, got -1", elu(x, -1));
}

std::vector<double> plain_softmax(const std::vector<double>& x, std::size_t n, bool log) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += n) {
    double sum = 0;
    for (std::size_t i = row; i < row + n; ++i) sum += std::exp(x[i]);
    for (std::size_t i = row; i < row + n; ++i) y.push_back(log ? x[i] - std::log(sum) : std::exp(x[i]) / sum);
  }
  return y;
}

TEST(Activations, SoftmaxesOverTheLastAxis) {
  for (const int threads : {1, 3}) {
    const ComputeThreadsScope scope(threads);
    for (const Shape& shape : {Shape{5}, Shape{3, 1}, Shape{2, 3, 17}, Shape{0, 4}})
      for (const bool log : {false, true}) {
        const auto op = [&](std::span<const Tensor> in) { return log ? log_softmax(in[0]) : softmax(in[0]); };
        const auto n = static_cast<std::size_t>(shape.dim(-1));
        const Tensor x = random_tensor(shape, 1, -3, 3);
        check_gradients(op, [&](const auto& in) { return plain_softmax(in[0], n, log); }, {x},
                        {.length = shape.dim(-1), .magnitude = 4});
        expect_same_bits(activate(x, log ? Activation::log_softmax : Activation::softmax), op(std::array{x}));
      }
  }
  EXPECT_THAT(log_softmax(Tensor::from<float>({1000, 1000, -1000}, {3})).to_vector<float>(),
              ::testing::Pointwise(::testing::FloatEq(), {-std::log(2.0F), -std::log(2.0F), -2000 - std::log(2.0F)}));
  const Tensor x = random_tensor({4, 6}, 1);
  const Tensor kernel = random_tensor({6, 5}, 2);
  expect_same_bits(dense(x, kernel, {}, Activation::softmax), softmax(dense(x, kernel, {})));
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
  for (const ElementwiseCase& c : elementwise_cases) EXPECT_TRUE(std::isnan(c.op(x).to_vector<float>()[2])) << c.name;
}

TEST(Elementary, NothingCancelsNearZeroAndNothingOverflows) {
  for (const float x : {-1e-3F, -1e-5F, -1e-10F}) {
    const Tensor in = Tensor::full({1}, x);
    EXPECT_FLOAT_EQ(elu(in).item<float>(), std::expm1(x));
    EXPECT_FLOAT_EQ(gelu(in).item<float>(), 0.5F * x * std::erfc(-x / std::numbers::sqrt2_v<float>));
  }
  EXPECT_FLOAT_EQ(softplus(Tensor::full({1}, -20)).item<float>(), std::log1p(std::exp(-20.0F)));
  EXPECT_EQ(softplus(Tensor::full({1}, 1000)).item<float>(), 1000);
  EXPECT_EQ(elu(Tensor::full({1}, 1000)).item<float>(), 1000);
}

}  // namespace
}  // namespace lockstep::test
