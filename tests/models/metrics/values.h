#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/models/metrics/metric.h>

namespace lockstep::test {

inline Tensor floats(const std::vector<float>& values, const Shape& shape) { return Tensor::from(values, shape); }
inline Tensor floats(const std::vector<float>& values) {
  return floats(values, {static_cast<std::int64_t>(values.size())});
}

/// Allows for the small numbers that Keras adds to divisors, and for the rounding of results in Keras' documentation.
inline constexpr double keras_tolerance = 1e-6;

/// The metric's result after one batch.
inline double value(const Metric& metric, const Tensor& y_true, const Tensor& y_pred, const Tensor& weight = {}) {
  return metric.result(metric.update(y_true, y_pred, weight));
}

}  // namespace lockstep::test
