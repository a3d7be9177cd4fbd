#pragma once

#include <functional>
#include <vector>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

struct ActivationCase {
  const char* name;
  Activation activation;
  std::function<Tensor(const Tensor&)> op;
  double (*reference)(double);
};

/// All element-wise activations except linear.
const std::vector<ActivationCase>& activations_of_elements();

}  // namespace lockstep::test
