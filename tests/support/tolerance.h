#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <lockstep/runtime/core/dtype.h>

// The tolerances with which all tests compare results with exact references.

namespace lockstep::test {

/// Distance from 1 to the next number of `dtype`; 0 for integers.
inline double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::ldexp(1.0, -23);
    case DType::bf16:
      return std::ldexp(1.0, -7);
    default:
      return 0;
  }
}

/// Bound for the rounding error of a sum of `length` products computed in `dtype` whose absolute values add up to
/// `magnitude`. The rounding errors of n additions behave like independent random numbers: their sum grows with sqrt(n)
/// times the unit roundoff (Higham and Mary 2019), while the worst case grows with n. The factor 4 allows for outliers
/// and for the few roundings of an element besides those of the sum (inputs, products, store).
inline double tolerance(DType dtype, std::int64_t length, double magnitude) {
  return 4 * epsilon_of(dtype) * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, length))) * magnitude;
}

/// The magnitude to assume if only the results of sums are known: the largest result times sqrt(length). If `length`
/// terms with random signs add up to s, their absolute values add up to about s * sqrt(length).
inline double unsigned_sum(const std::vector<double>& results, std::int64_t length) {
  double largest = 0;
  for (const double result : results) largest = std::max(largest, std::abs(result));
  return largest * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, length)));
}

}  // namespace lockstep::test
