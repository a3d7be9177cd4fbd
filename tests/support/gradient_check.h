#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {

using Op = std::function<Tensor(std::span<const Tensor> inputs)>;
/// Computes the op's result in double precision from the row-major elements of its inputs.
using Reference = std::function<std::vector<double>(const std::vector<std::vector<double>>& inputs)>;

/// Upper limit of the number of elements of an input that are compared with difference quotients. Low with sanitizers:
/// they slow down the references, and a few samples are enough to find wrong memory accesses.
#ifdef LOCKSTEP_SANITIZED
inline constexpr int most_samples = 2;
#else
inline constexpr int most_samples = 1000;
#endif

struct GradientCheck {
  std::int64_t length = 1;  ///< terms of the longest sum, forward or backward; see tolerance()
  double magnitude = 0;     ///< sum of the terms' absolute values; 0 stands for unsigned_sum of the results
  int samples = 24;         ///< number of elements of each input that are checked
  double step = 1e-5;       ///< step of the central differences
  double error = 0;  ///< allowed error of a central difference, relative to max(1, largest absolute gradient element)
  std::vector<int> threads = {};  ///< thread counts to compute with, one after the other; if empty, the current one
};

namespace detail {

inline double weighted_sum(const std::vector<double>& y, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
  return sum;
}

/// d(sum of weights * reference)/d(element), by a central difference. With a step of 1e-5, both the truncation error,
/// about step^2, and the rounding error of a reference in double precision, about 1e-16 / step, lie far below the
/// roundoff of f32.
inline double numeric_gradient(const Reference& reference, std::vector<std::vector<double>>& values, std::size_t input,
                               std::size_t element, const std::vector<double>& weights, double step = 1e-5) {
  double& x = values[input][element];
  const double at = x;
  x = at + step;
  const double above = weighted_sum(reference(values), weights);
  x = at - step;
  const double below = weighted_sum(reference(values), weights);
  x = at;
  return (above - below) / (2 * step);
}

/// Let L(x) = sum(weights * reference(x)^2). Returns the derivative of sum(directions * gradient of L) with respect to
/// the element, by central differences of `reference`. The truncation error is about step^2, the rounding error 1e-16 /
/// step^2. Elements of the result that do not change cancel exactly. A larger step would cross more points at which the
/// op is not differentiable.
inline double numeric_second_gradient(const Reference& reference, const std::vector<std::vector<double>>& values,
                                      const std::vector<std::vector<double>>& directions, std::size_t input,
                                      std::size_t element, const std::vector<double>& weights) {
  const double step = 2e-4;
  const auto at = [&](double along, double beside) {
    std::vector<std::vector<double>> x = values;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t k = 0; k < x[i].size(); ++k) x[i][k] += along * directions[i][k];
    x[input][element] += beside;
    return reference(x);
  };
  const std::vector<std::vector<double>> y{at(step, step), at(step, -step), at(-step, step), at(-step, -step)};
  std::vector<double> differences;
  for (std::size_t k = 0; k < weights.size(); ++k)
    differences.push_back(y[0][k] * y[0][k] - y[1][k] * y[1][k] - y[2][k] * y[2][k] + y[3][k] * y[3][k]);
  return weighted_sum(differences, weights) / (4 * step * step);
}

/// An element of an input and its gradient.
struct Sample {
  std::size_t input, element;
  double gradient;
};

inline std::vector<Sample> numeric_gradients(const Reference& reference, const std::vector<Tensor>& inputs,
                                             const std::vector<double>& weights, const GradientCheck& check) {
  std::vector<std::vector<double>> values;
  for (const Tensor& input : inputs) values.push_back(input.to_vector<double>());
  std::vector<Sample> result;
  std::mt19937 generator(42);
  for (std::size_t input = 0; input < inputs.size(); ++input)
    for (int sample = 0; sample < std::min(check.samples, most_samples) && !values[input].empty(); ++sample) {
      const std::size_t element = generator() % values[input].size();
      result.push_back({input, element, numeric_gradient(reference, values, input, element, weights, check.step)});
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
    const double error = check.error * std::max(1.0, unsigned_sum(gradient, 1));
    ASSERT_NEAR(gradient[sample.element], sample.gradient, tolerance(DType::f32, check.length, magnitude) + error)
        << "input " << sample.input << ", element " << sample.element;
  }
}

}  // namespace detail

/// Directions for numeric_second_gradient: 0 except for up to four elements of each input. A step along all elements
/// would cross points at which the op is not differentiable.
inline std::vector<Tensor> few_directions(const std::vector<Tensor>& inputs) {
  std::mt19937 generator(7);
  std::vector<Tensor> directions;
  for (const Tensor& input : inputs) {
    std::vector<float> direction(static_cast<std::size_t>(input.elements()));
    for (int i = 0; i < 4 && !direction.empty(); ++i)
      direction[generator() % direction.size()] = static_cast<float>(generator() % 64) / 32 - 1;
    directions.push_back(Tensor::from(direction, input.shape()));
  }
  return directions;
}

/// sum(directions * gradient of L) for L(x) = sum(weights * op(x)^2), with the gradient computed by a tape.
inline Tensor gradient_along(const Op& op, const std::vector<Tensor>& inputs, const Tensor& weights,
                             const std::vector<Tensor>& directions) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = op(inputs);
  const std::vector<Tensor> gradients = tape.gradient(sum(multiply(square(y), weights)), inputs);
  Tensor along = Tensor::zeros({});
  for (std::size_t i = 0; i < inputs.size(); ++i) along = add(along, sum(multiply(gradients[i], directions[i])));
  return along;
}

/// The gradient of gradient_along, computed by another tape. Undefined for inputs for which it is known to be 0.
inline std::vector<Tensor> second_gradients(const Op& op, const std::vector<Tensor>& inputs, const Tensor& weights,
                                            const std::vector<Tensor>& directions) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  return tape.gradient(gradient_along(op, inputs, weights, directions), inputs);
}

/// Compares second_gradients with central differences at a few elements of each input: the elements at which the
/// directions are not 0, and up to four others.
inline void check_second_gradients(const Op& op, const Reference& reference, const std::vector<Tensor>& inputs,
                                   const GradientCheck& check = {}) {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> directions;
  const std::vector<Tensor> along = few_directions(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(inputs[i].to_vector<double>());
    directions.push_back(along[i].to_vector<double>());
  }
  const Tensor weights = random_tensor(op(inputs).shape(), 4711, 0.5, 1.5);
  const std::vector<Tensor> found = second_gradients(op, inputs, weights, along);
  std::mt19937 generator(43);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    if (values[input].empty()) continue;
    std::vector<std::size_t> elements;
    for (std::size_t k = 0; k < directions[input].size(); ++k)
      if (directions[input][k] != 0) elements.push_back(k);
    for (int i = 0; i < 4; ++i) elements.push_back(generator() % values[input].size());
    elements.resize(std::min<std::size_t>(elements.size(), most_samples));
    const std::vector<double> result =
        found[input].defined() ? found[input].to_vector<double>() : std::vector<double>(values[input].size(), 0);
    const double magnitude = std::max(unsigned_sum(result, check.length), check.magnitude);
    for (const std::size_t element : elements) {
      const double expected =
          detail::numeric_second_gradient(reference, values, directions, input, element, weights.to_vector<double>());
      ASSERT_NEAR(result[element], expected, 4 * tolerance(DType::f32, check.length, magnitude) + 1e-6)
          << "input " << input << ", element " << element;
    }
  }
}

/// Compares the result of `op` with the reference. Then takes a randomly weighted sum of the result and compares its
/// gradient with respect to each input, as computed by a tape, with central differences of the reference.
inline void check_gradients(const Op& op, const Reference& reference, const std::vector<Tensor>& inputs,
                            const GradientCheck& check = {}) {
  std::vector<std::vector<double>> values;
  for (const Tensor& input : inputs) values.push_back(input.to_vector<double>());
  const std::vector<double> y = reference(values);
  const Tensor weights = random_tensor(op(inputs).shape(), 4711, 0.5, 1.5);
  // Computed once for all thread counts, since the references' plain loops in double precision take longer than the
  // rest.
  const std::vector<detail::Sample> samples =
      detail::numeric_gradients(reference, inputs, weights.to_vector<double>(), check);
  if (check.threads.empty()) detail::compare_gradients(op, y, samples, weights, inputs, check);
  for (const int threads : check.threads) {
    SCOPED_TRACE(threads);
    const ComputeThreadsScope scope(threads);
    detail::compare_gradients(op, y, samples, weights, inputs, check);
  }
}

}  // namespace lockstep::test
