#pragma once

#include <memory>

#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

/// An op's input as the op keeps it for its gradient: the tensor, or how to make it again, from what is kept anyway,
/// once for all ops that read it.
class KeptInput {
 public:
  /// To be made before the op is recorded. Only tensors of CPUs are made again: steps of GPUs are bound by their passes
  /// through memory.
  explicit KeptInput(const Tensor& x) : shape_(x.shape()) {
    if (x.device().kind == DeviceKind::cpu) recomputed_ = recomputed(x);
    if (!recomputed_) tensor_ = x;
  }

  /// The input's shape.
  const Shape& shape() const { return shape_; }
  /// The input, which is made again by the first call where it was not kept.
  const Tensor& get() const { return recomputed_ ? recomputed_->tensor() : tensor_; }

 private:
  Shape shape_;
  Tensor tensor_;
  std::shared_ptr<Recomputed> recomputed_;
};

}  // namespace lockstep
