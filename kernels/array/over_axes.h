#pragma once

#include <functional>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The numbers of x's axes in order.
std::vector<int> all_axes(const Tensor& x);

/// A function of the last axis, applied to the elements along `axes` together (negative ones count from the end).
/// `function` gets x itself if these are the last axis alone, else x with these axes, in order, joined to one, the last
/// axis; it returns a tensor of the shape that it gets. Throws InvalidArgument for no axes, naming `op`, and for axes
/// that x does not have or that are given twice.
Tensor over_axes(const char* op, const Tensor& x, const std::vector<int>& axes,
                 const std::function<Tensor(const Tensor&)>& function);

}  // namespace lockstep
