#pragma once

#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

/// An op's input as the op keeps it for its gradient: the tensor, or how to make it again, from what is kept anyway.
class KeptInput {
 public:
  /// To be made before the op is recorded. Only tensors of CPUs are made again: steps of GPUs are bound by their passes
  /// through memory.
  explicit KeptInput(const Tensor& x) : shape_(x.shape()) {
    if (x.device().kind == DeviceKind::cpu) remake_ = remake_of(x);
    if (!remake_) tensor_ = x;
  }

  /// The input's shape.
  const Shape& shape() const { return shape_; }
  /// The input, for as long as it is held. Computes it again each time where only that was kept.
  Tensor get() const { return remake_ ? remake_() : tensor_; }

 private:
  Shape shape_;
  Tensor tensor_;
  RemakeFn remake_;
};

}  // namespace lockstep
