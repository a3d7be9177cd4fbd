#pragma once

#include <memory>

#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

/// An op's input, kept for its gradient: the tensor itself, or its recomputation from tensors that are kept anyway,
/// done once for all ops that read it.
class KeptInput {
 public:
  /// Construct it before recording the op. Only CPU tensors are recomputed: steps on GPUs are memory-bound, and
  /// recomputing costs another pass through memory.
  explicit KeptInput(const Tensor& x) : shape_(x.shape()) {
    if (x.device().kind == DeviceKind::cpu) recomputed_ = recomputed(x);
    if (!recomputed_) tensor_ = x;
  }

  /// The input's shape.
  const Shape& shape() const { return shape_; }
  /// The input; the first call recomputes it if it was not kept.
  const Tensor& get() const { return recomputed_ ? recomputed_->tensor() : tensor_; }

 private:
  Shape shape_;
  Tensor tensor_;
  std::shared_ptr<Recomputed> recomputed_;
};

}  // namespace lockstep
