#pragma once

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <support/tolerance.h>

#include <lockstep/runtime/tensor/tensor.h>

// Tensors for tests, and comparisons of tensors.

namespace lockstep::test {

/// An f32 tensor of random numbers, uniform in [low, high]; equal seeds give equal numbers.
inline Tensor random_tensor(const Shape& shape, unsigned seed, double low = -1, double high = 1) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (float& value : values) value = static_cast<float>(low + (high - low) * (generator() / 4294967296.0));
  return Tensor::from(values, shape);
}

/// The first slice of `x` along axis 0 in place of all of them, with stride 0; x itself if it has none.
inline Tensor broadcast_first(const Tensor& x) {
  return x.dim(0) == 0 ? x : x.slice_view(0, 0, 1).broadcast_view(x.shape());
}

/// A copy of `x` (f32 or bf16) as a slice along `axis` of a larger tensor, which has `before` elements before the slice
/// and `after` elements after it; these elements are NaN.
inline Tensor strided_copy(const Tensor& x, int axis = -1, std::int64_t before = 2, std::int64_t after = 3) {
  Shape wide = x.shape();
  axis = wide.normalize_axis(axis);
  wide[axis] += before + after;
  const Shape strides = wide.dense_strides();
  const std::vector<float> values = x.to_vector<float>();
  std::vector<float> whole(static_cast<std::size_t>(wide.elements()), std::nanf(""));
  std::size_t i = 0;
  detail::for_each_offset(x.shape(), strides, [&](std::int64_t at) {
    whole[static_cast<std::size_t>(at + before * strides[axis])] = values[i++];
  });
  return visit_real(x.dtype(), [&]<class T>() {
    return Tensor::from(std::vector<T>(whole.begin(), whole.end()), wide)
        .slice_view(axis, before, before + x.dim(axis));
  });
}

/// Expects every element within tolerance(dtype, length, magnitude) of `expected` (row-major). Magnitude 0 stands for
/// unsigned_sum(expected, length).
inline void expect_close(const Tensor& actual, const std::vector<double>& expected, std::int64_t length = 1,
                         double magnitude = 0) {
  const std::vector<double> values = actual.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size()) << actual.text();
  if (magnitude == 0) magnitude = unsigned_sum(expected, length);
  const double allowed = tolerance(actual.dtype(), length, magnitude);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], allowed) << "element " << i;
}

/// Expects the same shape, dtype and bits.
inline void expect_same_bits(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  ASSERT_EQ(actual.dtype(), expected.dtype());
  const Tensor a = actual.on_host();
  const Tensor b = expected.on_host();
  const std::size_t size = size_of(a.dtype());
  std::vector<std::int64_t> offsets;
  detail::for_each_offset(b.shape(), b.strides(), [&](std::int64_t at) { offsets.push_back(at); });
  std::size_t i = 0;
  bool same = true;
  detail::for_each_offset(a.shape(), a.strides(), [&](std::int64_t at) {
    const auto* left = static_cast<const std::byte*>(a.raw_data()) + static_cast<std::size_t>(at) * size;
    const auto* right = static_cast<const std::byte*>(b.raw_data()) + static_cast<std::size_t>(offsets[i]) * size;
    same = same && std::memcmp(left, right, size) == 0;
    ++i;
  });
  EXPECT_TRUE(same) << a.text();
}

}  // namespace lockstep::test
