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

}  // namespace lockstep::test
