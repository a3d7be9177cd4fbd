#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// f32 numbers that are hard to sort: a few different numbers, each many times, including NaN, infinities and zeros of
/// both signs.
inline Tensor many_equals(const Shape& shape, unsigned seed) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> few{0, -0.0F, 1, -1, 2.5F, infinity, -infinity, std::nanf(""), -std::nanf("")};
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (float& value : values) value = few[generator() % few.size()];
  return Tensor::from(values, shape);
}

}  // namespace lockstep::test
