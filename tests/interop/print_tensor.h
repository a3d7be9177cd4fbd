#pragma once

#include <string>

#include <fmt/ranges.h>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// Prints a line that driver_output.py reads: the label, dtype, shape and values, separated by tabs.
inline void print(const std::string& label, const Tensor& values) {
  const Shape& shape = values.shape();
  fmt::print("{}\t{}\t{}\t{:.17g}\n", label, name(values.dtype()), fmt::join(shape.begin(), shape.end(), " "),
             fmt::join(values.to_vector<double>(), " "));
}

}  // namespace lockstep::test
