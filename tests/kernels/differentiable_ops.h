#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// A differentiable op with arguments to call it with.
struct Op {
  std::string name;            ///< of the function that `run` calls last, then perhaps what it is called with
  std::vector<Tensor> inputs;  ///< f32, on the device where differentiable_ops was called
  std::function<Tensor(std::span<const Tensor>)> run;
  bool is_view = false;  ///< its result stays where the first input is

  /// The name's first word.
  std::string function() const { return name.substr(0, name.find(' ')); }
  /// The name as GoogleTest takes it.
  std::string test_name() const;
};

/// At least one of every family.
std::vector<Op> differentiable_ops();

}  // namespace lockstep::test
