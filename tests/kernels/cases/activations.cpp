#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include <kernels/cases/activations.h>
#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>

#include <lockstep/kernels/array/elementwise.h>

namespace lockstep::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double elu_of(double x) { return x > 0 ? x : std::expm1(x); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// Softmax over the last axis of `columns` elements.
Reference softmax_of(std::int64_t columns, bool log) {
  return [n = static_cast<std::size_t>(columns), log](const Values& in) {
    const std::vector<double>& x = in[0];
    std::vector<double> y;
    for (std::size_t row = 0; row < x.size(); row += n) {
      double sum = 0;
      for (std::size_t i = row; i < row + n; ++i) sum += std::exp(x[i]);
      for (std::size_t i = row; i < row + n; ++i) y.push_back(log ? x[i] - std::log(sum) : std::exp(x[i]) / sum);
    }
    return y;
  };
}

/// Over axis 1 of three, or over axes 0 and 2 together.
OpCase softmax_over_axes_case(const Shape& shape, bool middle, bool log) {
  const std::vector<int> axes = middle ? std::vector{1} : std::vector{2, -3};
  const auto reference = [=](const Values& in) {
    std::vector<double> y;
    for_each_place(shape, [&](const Shape& at) {
      double sum = 0;
      for_each_place(shape, [&](const Shape& other) {
        const bool counts = middle ? at[0] == other[0] && at[2] == other[2] : at[1] == other[1];
        if (counts) sum += std::exp(in[0][static_cast<std::size_t>(number_of(other, shape))]);
      });
      const double x = in[0][static_cast<std::size_t>(number_of(at, shape))];
      y.push_back(log ? x - std::log(sum) : std::exp(x) / sum);
    });
    return y;
  };
  return {.name = fmt::format("{} over {} of {}", log ? "log_softmax" : "softmax", middle ? "axis 1" : "axes 0 and 2",
                              shape),
          .inputs = {random_tensor(shape, 1, -3, 3)},
          .run = [=](In in) { return log ? log_softmax(in[0], axes) : softmax(in[0], axes); },
          .reference = reference,
          .check = {.length = shape.elements(), .magnitude = 4},
          .takes_no_rows = middle};
}

OpCase softmax_case(const Shape& shape, bool log) {
  return {.name = fmt::format("{} of {}", log ? "log_softmax" : "softmax", shape),
          .inputs = {random_tensor(shape, 1, -3, 3)},
          .run = [=](In in) { return log ? log_softmax(in[0]) : softmax(in[0]); },
          .reference = softmax_of(shape.dim(-1), log),
          .check = {.length = shape.dim(-1), .magnitude = 4},
          .takes_no_rows = shape.rank() > 1};
}

/// relu with all its options.
OpCase relu_case(double negative_slope, std::optional<double> max_value, double threshold) {
  return {.name = fmt::format("relu of {}, {} and {}", negative_slope, max_value.value_or(-1), threshold),
          .inputs = {random_tensor({3, 37}, 1, -4, 8)},
          .run = [=](In in) { return relu(in[0], negative_slope, max_value, threshold); },
          .reference = each([=](double x) {
            return x > threshold ? std::min(x, max_value.value_or(x)) : negative_slope * (x - threshold);
          })};
}

/// Along the middle axis.
OpCase glu_case() {
  return {.name = "glu",
          .inputs = {random_tensor({3, 4, 5}, 1, -3, 3)},
          .run = [](In in) { return glu(in[0], 1); },
          .reference =
              [](const Values& in) {
                std::vector<double> y;
                for (std::size_t row = 0; row < 3; ++row)
                  for (std::size_t i = 20 * row; i < 20 * row + 10; ++i)
                    y.push_back(in[0][i] * logistic(in[0][i + 10]));
                return y;
              }};
}

}  // namespace

const std::vector<ActivationCase>& activations_of_elements() {
  static const auto& all = *new std::vector<ActivationCase>{
      {"relu", Activation::relu, [](const Tensor& x) { return relu(x); }, [](double x) { return std::max(x, 0.0); }},
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
      {"hard_sigmoid of Keras 2", Activation::keras_2_hard_sigmoid,
       [](const Tensor& x) { return activate(x, Activation::keras_2_hard_sigmoid); },
       [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"silu", Activation::silu, silu, [](double x) { return x * logistic(x); }},
      {"softplus", Activation::softplus, softplus, [](double x) { return std::log1p(std::exp(x)); }},
      {"hard_silu", Activation::hard_silu, hard_silu, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"mish", Activation::mish, mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"log_sigmoid", Activation::log_sigmoid, log_sigmoid, [](double x) { return -std::log1p(std::exp(-x)); }},
      {"squareplus", Activation::squareplus, [](const Tensor& x) { return squareplus(x); },
       [](double x) { return (x + std::sqrt(x * x + 4)) / 2; }},
      {"sparse_plus", Activation::sparse_plus, sparse_plus,
       [](double x) { return x <= -1  ? 0
                             : x >= 1 ? x
                                      : (x + 1) * (x + 1) / 4; }},
      {"sparse_sigmoid", Activation::sparse_sigmoid, sparse_sigmoid,
       [](double x) { return std::clamp((x + 1) / 2, 0.0, 1.0); }},
      {"celu", Activation::celu, [](const Tensor& x) { return celu(x); }, elu_of},
      {"hard_tanh", Activation::hard_tanh, hard_tanh, [](double x) { return std::clamp(x, -1.0, 1.0); }},
      {"hard_shrink", Activation::hard_shrink, [](const Tensor& x) { return hard_shrink(x); },
       [](double x) { return std::abs(x) <= 0.5 ? 0 : x; }},
      {"soft_shrink", Activation::soft_shrink, [](const Tensor& x) { return soft_shrink(x); },
       [](double x) { return std::copysign(std::max(std::abs(x) - 0.5, 0.0), x); }},
      {"tanh_shrink", Activation::tanh_shrink, tanh_shrink, [](double x) { return x - std::tanh(x); }},
      {"softsign", Activation::softsign, softsign, [](double x) { return x / (1 + std::abs(x)); }},
      {"tanh", Activation::tanh, tanh, [](double x) { return std::tanh(x); }},
      {"exp as an activation", Activation::exponential, exp, [](double x) { return std::exp(x); }},
  };
  return all;
}

std::vector<OpCase> activation_cases() {
  std::vector<OpCase> cases;
  for (const ActivationCase& c : activations_of_elements()) {
    // 8 covers relu6's upper end. exp would dwarf its own small values there, and near 1 bf16 is too coarse for
    // sigmoid's gradient, which is computed from the result.
    const bool narrow = c.activation == Activation::exponential || c.activation == Activation::sigmoid;
    const double high = narrow ? 2 : 8;
    cases.push_back({.name = c.name,
                     .inputs = {random_tensor({3, 37}, 1, -4, high)},
                     .run = [op = c.op](In in) { return op(in[0]); },
                     .reference = each(c.reference),
                     .integers_give_f32 = c.activation == Activation::tanh || c.activation == Activation::exponential});
  }
  cases.push_back({.name = "leaky_relu of 0.7",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return leaky_relu(in[0], 0.7); },
                   .reference = each([](double x) { return x > 0 ? x : 0.7 * x; })});
  cases.push_back({.name = "elu of 2.5",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return elu(in[0], 2.5); },
                   .reference = each([](double x) { return x > 0 ? x : 2.5 * std::expm1(x); })});
  cases.push_back({.name = "celu of 2.5",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return celu(in[0], 2.5); },
                   .reference = each([](double x) { return x > 0 ? x : 2.5 * std::expm1(x / 2.5); })});
  cases.push_back({.name = "squareplus of 0.5",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return squareplus(in[0], 0.5); },
                   .reference = each([](double x) { return (x + std::sqrt(x * x + 0.5)) / 2; })});
  cases.push_back(relu_case(0.25, 3, 1));
  cases.push_back(relu_case(0.25, 3, 0));
  cases.push_back(relu_case(0, {}, 1));
  cases.push_back(relu_case(0, 6, 0));
  cases.push_back({.name = "hard_shrink of 1.5",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return hard_shrink(in[0], 1.5); },
                   .reference = each([](double x) { return std::abs(x) <= 1.5 ? 0 : x; })});
  cases.push_back({.name = "threshold of 0.5",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return threshold(in[0], 0.5, -1.25); },
                   .reference = each([](double x) { return x > 0.5 ? x : -1.25; })});
  cases.push_back(glu_case());
  cases.push_back({.name = "soft_shrink of 1.5",
                   .inputs = {random_tensor({3, 5}, 1, -3, 3)},
                   .run = [](In in) { return soft_shrink(in[0], 1.5); },
                   .reference = each([](double x) { return std::copysign(std::max(std::abs(x) - 1.5, 0.0), x); })});
  for (const bool log : {false, true})
    for (const Shape& shape : {Shape{5}, Shape{3, 1}, Shape{2, 3, 17}, Shape{4, 100}})
      cases.push_back(softmax_case(shape, log));
  for (const bool log : {false, true})
    for (const bool middle : {false, true}) cases.push_back(softmax_over_axes_case({3, 4, 5}, middle, log));
  return cases;
}

}  // namespace lockstep::test
