#pragma once

#include <span>
#include <vector>

#include <lockstep/strategy/comm/nccl/gpu_communicators.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// Converts gradients to and from the dtype in which GPUs exchange them. f32: the gradients themselves are exchanged.
/// bf16: rounded copies, half as many bytes, are exchanged, and their sums are widened into the gradients. Conversions
/// run in the compute stream. A range is rounded when gradients_final reports it or, if it was not reported, when the
/// exchange begins. Sums are widened when the update waits for them.
class GradientWire {
 public:
  /// For one replica on each GPU. `dtype` is f32 or bf16.
  GradientWire(std::vector<LogicalDevice> gpus, DType dtype)
      : gpus_(std::move(gpus)), dtype_(dtype), copies_(gpus_.size()) {}

  /// The dtype of the exchange.
  DType dtype() const { return dtype_; }
  /// Returns the part of range number `range` that the replica contributes to the exchange, and into which the exchange
  /// writes the sum. Precondition: work in the compute stream up to now completes the range's gradients. Call it on the
  /// replica's thread. After the first call, allocates nothing for ranges of the same length. Throws OutOfMemory.
  GpuPart part_of(int replica, const FlatViews& views, std::span<const FlatRange> ranges, std::size_t range);
  /// Writes the sums of all ranges into the gradients. Call it on the replica's thread, once its compute stream waits
  /// for the sums.
  void finish(int replica, const FlatViews& views, std::span<const FlatRange> ranges) const;

 private:
  std::vector<LogicalDevice> gpus_;
  DType dtype_;
  std::vector<Tensor> copies_;  ///< by replica; undefined if the gradients themselves are exchanged
};

}  // namespace lockstep
