#pragma once

#include <functional>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {

using Op = std::function<Tensor(std::span<const Tensor> inputs)>;
/// The op in double precision on row-major elements.
using Reference = std::function<std::vector<double>(const std::vector<std::vector<double>>& inputs)>;

struct GradientCheck {
  std::int64_t length = 1;  ///< terms of the longest sum, forward or backward; see tolerance()
  double magnitude = 0;     ///< of those sums; 0 for unsigned_sum of the results
  int samples = 24;         ///< elements of each input that are checked
};

namespace detail {

inline double weighted_sum(const std::vector<double>& y, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
  return sum;
}

/// d(sum of weights * reference)/d(element): central differences. With this step both its truncation error, about
/// step^2, and its rounding error, about 1e-16 / step, lie far below the roundoff of f32.
inline double numeric_gradient(const Reference& reference, std::vector<std::vector<double>>& values, std::size_t input,
                               std::size_t element, const std::vector<double>& weights) {
  double& x = values[input][element];
  const double at = x;
  const double step = 1e-5;
  x = at + step;
  const double above = weighted_sum(reference(values), weights);
  x = at - step;
  const double below = weighted_sum(reference(values), weights);
  x = at;
  return (above - below) / (2 * step);
}

}  // namespace detail

/// Compares op's result with the reference, and the tape's gradient of each input of a randomly weighted sum of the
/// result with central differences of the reference.
inline void check_gradients(const Op& op, const Reference& reference, const std::vector<Tensor>& inputs,
                            const GradientCheck& check = {}) {
  std::vector<std::vector<double>> values;
  for (const Tensor& input : inputs) values.push_back(input.to_vector<double>());

  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = op(inputs);
  expect_close(y, reference(values), check.length, check.magnitude);
  const Tensor weights = random_tensor(y.shape(), 4711, 0.5, 1.5);
  const std::vector<Tensor> gradients = tape.gradient(sum(multiply(y, weights)), inputs);

  std::mt19937 generator(42);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    ASSERT_TRUE(gradients[input].defined()) << "input " << input;
    ASSERT_EQ(gradients[input].shape(), inputs[input].shape()) << "input " << input;
    const std::vector<double> gradient = gradients[input].to_vector<double>();
    if (gradient.empty()) continue;
    const double magnitude = check.magnitude > 0 ? check.magnitude : unsigned_sum(gradient, check.length);
    const double allowed = tolerance(DType::f32, check.length, magnitude);
    for (int sample = 0; sample < check.samples; ++sample) {
      const std::size_t element = generator() % gradient.size();
      const double expected = detail::numeric_gradient(reference, values, input, element, weights.to_vector<double>());
      ASSERT_NEAR(gradient[element], expected, allowed) << "input " << input << ", element " << element;
    }
  }
}

}  // namespace lockstep::test
