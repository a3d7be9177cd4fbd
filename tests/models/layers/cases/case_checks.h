#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/layers/cases/layer_case.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/random_draws.h>

// Inputs and comparisons for the tests of the table of layers.

namespace lockstep::test {

using Shapes = std::vector<Shape>;
using Tensors = std::vector<Tensor>;

inline constexpr std::int64_t examples = 3;

/// All rows of the table.
inline const std::vector<LayerCase>& layer_cases() {
  static const std::vector<LayerCase> all = [] {
    std::vector<LayerCase> rows;
    for (const auto& more :
         {array_layer_cases(), attention_layer_cases(), convolution_layer_cases(), dense_layer_cases(),
          normalization_layer_cases(), pooling_layer_cases(), random_layer_cases(), recurrent_layer_cases()})
      rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return all;
}

/// The name of the test of a row.
inline std::string row_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = layer_cases()[info.param].name;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

inline Shape batched(std::int64_t rows, const Shape& shape) {
  Shape result{rows};
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

/// Numbers that bf16 represents exactly and that are at least 1 / 256 away from 0. Among 128 successive numbers of an
/// input, and between two neighboring inputs, any two numbers differ by at least 1 / 128. Differences with a smaller
/// step therefore cross no kink.
inline Tensor numbers(const Shape& shape, std::size_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.elements()); ++i)
    values.push_back(static_cast<float>(4 * ((i * 53 + seed * 29) % 128) + 1 + 2 * (seed % 2)) / 256 - 1);
  return Tensor::from(values, shape);
}

inline Tensor some_ids(const Shape& shape, std::int64_t count) {
  return cast(random_tensor(shape, 3, 0, static_cast<double>(count)), DType::i64);
}

/// Changes the values of new variables. Their initial values are often 0 or 1, which would hide many faults.
inline void change_values(const std::vector<Variable>& variables) {
  unsigned seed = 0;
  for (const Variable& variable : variables) {
    const Tensor value = add(variable.value(), random_tensor(variable.shape(), ++seed, -0.25, 0.25));
    variable.assign(cast(cast(value, DType::bf16), DType::f32));
  }
}

/// Makes the next call draw the same random numbers as the first one.
inline void repeat_draws(LayerImpl& layer) {
  if (RandomDraws* const own = layer.random_draws())
    own->set_counts(std::vector<std::uint64_t>(own->counts().size(), 0));
  for (const InnerLayer& inner : layer.inner_layers()) repeat_draws(*inner.layer);
}

inline void expect_same(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(actual[i].defined(), expected[i].defined());
    if (actual[i].defined()) expect_same_bits(actual[i], expected[i]);
  }
}

/// Compares with an error relative to the largest element, or to 0.1 for results that are almost 0.
inline void expect_near(const Tensor& actual, const Tensor& expected, double error) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const std::vector<double> exact = expected.to_vector<double>();
  const double allowed = error * (unsigned_sum(exact, 1) + 0.1);
  EXPECT_THAT(actual.to_vector<double>(), testing::Pointwise(testing::DoubleNear(allowed), exact));
}

}  // namespace lockstep::test
