#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// Labels 0, 1, ..., classes - 1, 0, 1, ...
inline Tensor cyclic_labels(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < rows; ++row) labels.push_back(row % classes);
  return Tensor::from(labels, {rows});
}

/// Labels (n, 1) for x (n, features): 1 where the first feature is larger than the second, otherwise 0.
inline Tensor larger_first_feature(const Tensor& x) {
  std::vector<float> labels;
  const std::vector<float> values = x.to_vector<float>();
  for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(x.dim(1)))
    labels.push_back(values[at] > values[at + 1] ? 1.0F : 0.0F);
  return Tensor::from(labels, {x.dim(0), 1});
}

}  // namespace lockstep::test
