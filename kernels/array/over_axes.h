#pragma once

#include <functional>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// All axes of x: 0, 1, ... x.rank() - 1.
std::vector<int> all_axes(const Tensor& x);

/// Applies `function`, an op along the last axis that keeps the shape (such as softmax), jointly along all of `axes`;
/// the result has x's shape. Negative axes count from the end. If `axes` contains only the last axis, the argument of
/// `function` is x itself. Otherwise, the argument is x with `axes`, in increasing order, moved to the end and merged
/// into one axis. Throws InvalidArgument if `axes` is empty (the message names `op`), and for axes that x does not have
/// or that are given twice.
Tensor over_axes(const char* op, const Tensor& x, const std::vector<int>& axes,
                 const std::function<Tensor(const Tensor&)>& function);

}  // namespace lockstep
