#pragma once

#include <functional>
#include <utility>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Recomputes an op's output from the values that the op keeps for its gradient, and writes it to `out`. `out` has the
/// output's shape; it is dense or a slice of a dense tensor along the last axis.
using RecomputeFn = std::function<void(const Tensor& out)>;

/// An op's output that is recomputed at its first use, once for all ops that share this object.
class Recomputed {
 public:
  /// `recompute` writes a tensor of `like`'s shape and dtype.
  Recomputed(const Tensor& like, RecomputeFn recompute)
      : shape_(like.shape()), dtype_(like.dtype()), recompute_(std::move(recompute)) {}
  /// The output. The first call computes it, on the calling thread's device.
  const Tensor& tensor() {
    if (!tensor_.defined()) {
      const Tensor made = Tensor::empty(shape_, dtype_);
      recompute_(made);
      tensor_ = made;
    }
    return tensor_;
  }

 private:
  Shape shape_;
  DType dtype_;
  RecomputeFn recompute_;
  Tensor tensor_{};
};

}  // namespace lockstep
