#pragma once

#include <memory>

#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

/// An input saved for backward: either the tensor or, to save memory, a recomputation shared by all ops that read it.
class KeptInput {
 public:
  /// Construct it before recording the op. A tensor is recomputed only if the op that made it has registered a
  /// recomputation. It is always kept on GPUs, because their steps are bound by memory bandwidth and recomputing costs
  /// another pass through memory. It is also kept if several tapes record, because a tape that records the gradient of
  /// another tape may track the tensor.
  explicit KeptInput(const Tensor& x) : shape_(x.shape()) {
    if (x.device().kind == DeviceKind::cpu && !several_tapes_record()) recomputed_ = recomputed(x);
    if (!recomputed_) tensor_ = x;
  }

  /// The input's shape.
  const Shape& shape() const { return shape_; }
  /// The input. If it was not kept, the first call recomputes it.
  const Tensor& get() const { return recomputed_ ? recomputed_->tensor() : tensor_; }

 private:
  Shape shape_;
  Tensor tensor_;
  std::shared_ptr<Recomputed> recomputed_;
};

}  // namespace lockstep
