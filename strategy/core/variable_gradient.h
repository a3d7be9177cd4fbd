#pragma once

#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// GradientTape::gradient with respect to the variables' values in the calling replica (Variable::value). Throws the
/// errors of both functions.
inline std::vector<Tensor> gradient(GradientTape& tape, const Tensor& target, const std::vector<Variable>& variables) {
  std::vector<Tensor> values;
  for (const Variable& variable : variables) values.push_back(variable.value());
  return tape.gradient(target, values);
}

}  // namespace lockstep
