#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// One element of a Dataset, `Example{{x}, {y}}`: a model's inputs and targets. Tensors in the lists are defined. After
/// batch() they all have a leading batch axis.
struct Example {
  /// One tensor for each input of a model.
  std::vector<Tensor> inputs{};
  std::vector<Tensor> targets{};         ///< one for each output of a model; empty without targets
  std::vector<Tensor> sample_weights{};  ///< one for all outputs, or one for each output; empty: weight 1

  ///@{
  /// The first input (x) and the first target (y); undefined if there is none.
  const Tensor& x() const;
  const Tensor& y() const;
  ///@}
  /// The example's weight for `output`; undefined: 1. Precondition: output < sample_weights.size() if there are several
  /// weights.
  const Tensor& sample_weight(std::size_t output = 0) const;
  ///@{
  /// A copy whose first input (with_x) or first target (with_y) is `other`.
  Example with_x(const Tensor& other) const;
  Example with_y(const Tensor& other) const;
  ///@}
  /// An example in which part(t) replaces each tensor t. Calls `part` for inputs, targets and sample weights, in this
  /// order.
  template <class Part>
  Example each(const Part& part) const;

  /// Size of the leading axis: the number of rows of a batch. Throws InvalidArgument if x is a scalar or undefined.
  std::int64_t size() const { return x().dim(0); }
};
/// Several examples combined into one: all tensors have a leading batch axis of the same size.
using Batch = Example;

template <class Part>
Example Example::each(const Part& part) const {
  const auto of = [&](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> parts;
    parts.reserve(tensors.size());
    for (const Tensor& tensor : tensors) parts.push_back(part(tensor));
    return parts;
  };
  return {of(inputs), of(targets), of(sample_weights)};  // braces: evaluated in this order
}

}  // namespace lockstep
