#pragma once

#include <functional>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {

using Op = std::function<Tensor(std::span<const Tensor> inputs)>;
/// Computes the op's result in double precision from the row-major elements of its inputs.
using Reference = std::function<std::vector<double>(const std::vector<std::vector<double>>& inputs)>;

struct GradientCheck {
  std::int64_t length = 1;        ///< terms of the longest sum, forward or backward; see tolerance()
  double magnitude = 0;           ///< sum of the terms' absolute values; 0: unsigned_sum of the results
  int samples = 24;               ///< number of elements of each input that are checked
  std::vector<int> threads = {};  ///< thread counts to compute with, one after the other; empty: the current one
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

/// An element of an input and its gradient.
struct Sample {
  std::size_t input, element;
  double gradient;
};

inline std::vector<Sample> numeric_gradients(const Reference& reference, const std::vector<Tensor>& inputs,
                                             const std::vector<double>& weights, int samples) {
  std::vector<std::vector<double>> values;
  for (const Tensor& input : inputs) values.push_back(input.to_vector<double>());
  std::vector<Sample> result;
  std::mt19937 generator(42);
  for (std::size_t input = 0; input < inputs.size(); ++input)
    for (int sample = 0; sample < samples && !values[input].empty(); ++sample) {
      const std::size_t element = generator() % values[input].size();
      result.push_back({input, element, numeric_gradient(reference, values, input, element, weights)});
    }
  return result;
}

/// The comparisons of check_gradients, with the current number of threads.
inline void compare_gradients(const Op& op, const std::vector<double>& expected_y, const std::vector<Sample>& samples,
                              const Tensor& weights, const std::vector<Tensor>& inputs, const GradientCheck& check) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = op(inputs);
  expect_close(y, expected_y, check.length, check.magnitude);
  const std::vector<Tensor> gradients = tape.gradient(sum(multiply(y, weights)), inputs);
  std::vector<std::vector<double>> values;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    ASSERT_TRUE(gradients[input].defined()) << "input " << input;
    ASSERT_EQ(gradients[input].shape(), inputs[input].shape()) << "input " << input;
    values.push_back(gradients[input].to_vector<double>());
  }
  for (const Sample& sample : samples) {
    const std::vector<double>& gradient = values[sample.input];
    const double magnitude = check.magnitude > 0 ? check.magnitude : unsigned_sum(gradient, check.length);
    ASSERT_NEAR(gradient[sample.element], sample.gradient, tolerance(DType::f32, check.length, magnitude))
        << "input " << sample.input << ", element " << sample.element;
  }
}

}  // namespace detail

/// Compares the result of `op` with the reference. Then takes a randomly weighted sum of the result and compares its
/// gradient with respect to each input, as computed by a tape, with central differences of the reference.
inline void check_gradients(const Op& op, const Reference& reference, const std::vector<Tensor>& inputs,
                            const GradientCheck& check = {}) {
  std::vector<std::vector<double>> values;
  for (const Tensor& input : inputs) values.push_back(input.to_vector<double>());
  const std::vector<double> y = reference(values);
  const Tensor weights = random_tensor(op(inputs).shape(), 4711, 0.5, 1.5);
  // Computed once for all thread counts: in double precision and by plain loops, this takes longer than the rest.
  const std::vector<detail::Sample> samples =
      detail::numeric_gradients(reference, inputs, weights.to_vector<double>(), check.samples);
  if (check.threads.empty()) detail::compare_gradients(op, y, samples, weights, inputs, check);
  for (const int threads : check.threads) {
    SCOPED_TRACE(threads);
    const ComputeThreadsScope scope(threads);
    detail::compare_gradients(op, y, samples, weights, inputs, check);
  }
}

}  // namespace lockstep::test
