#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// A differentiable op with arguments to call it with.
struct Op {
  std::string name;
  std::vector<Tensor> inputs;  ///< f32, on the device where differentiable_ops was called
  std::function<Tensor(std::span<const Tensor>)> run;
  bool is_view = false;  ///< its result stays where the first input is
};

/// One of every family.
std::vector<Op> differentiable_ops();

}  // namespace lockstep::test
