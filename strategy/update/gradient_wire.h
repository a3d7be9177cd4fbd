#pragma once

#include <span>
#include <vector>

#include <lockstep/strategy/comm/nccl/gpu_communicators.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// What GPUs' gradients are exchanged as: themselves, or copies of them that are rounded to bf16, half as many bytes,
/// whose sums are widened in the gradients' place. Copies are made in the compute stream, as all is that is computed: a
/// range is rounded right after it has become final, and sums are widened when the update waits for them anyway.
class GradientWire {
 public:
  /// For a replica on each GPU; `dtype` is f32 or bf16.
  GradientWire(std::vector<LogicalDevice> gpus, DType dtype)
      : gpus_(std::move(gpus)), dtype_(dtype), copies_(gpus_.size()) {}

  /// Of what is exchanged.
  DType dtype() const { return dtype_; }
  /// On the replica's thread: its part of a range, which is final in its GPU's compute stream, and will hold the sum.
  /// Allocates nothing once it has been given ranges of this length. Throws OutOfMemory.
  GpuPart part_of(int replica, const FlatViews& views, std::span<const FlatRange> ranges, std::size_t range);
  /// On the replica's thread: brings the sums of all ranges, which have come in the compute stream, into the gradients.
  void finish(int replica, const FlatViews& views, std::span<const FlatRange> ranges) const;

 private:
  std::vector<LogicalDevice> gpus_;
  DType dtype_;
  std::vector<Tensor> copies_;  ///< by replica; undefined where the gradients themselves are exchanged
};

}  // namespace lockstep
