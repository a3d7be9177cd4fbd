#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <support/pretend_gpu/platform.h>

#include <lockstep/strategy/comm/nccl/gpu_communicators.h>

namespace lockstep::test {

/// Combines values of pretended GPUs in replica order, when one of their communication streams reaches it. Parts that
/// do not fit together, which NCCL would hang on, are a BrokenInvariant.
class PretendGpuCommunicators final : public GpuCommunicators {
 public:
  /// On `platform`, which outlives this.
  PretendGpuCommunicators(PretendGpuPlatform& platform, std::vector<LogicalDevice> gpus);
  /// Waits for what has been enqueued.
  ~PretendGpuCommunicators() override;
  PretendGpuCommunicators(const PretendGpuCommunicators&) = delete;
  PretendGpuCommunicators& operator=(const PretendGpuCommunicators&) = delete;
  int ranks() const override { return static_cast<int>(gpus_.size()); }
  void enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) override;

  /// The elements of each range of gradients that any of these has enqueued, in their order.
  static std::vector<std::size_t> take_ranges();
  /// What all of these have been asked to make of GPUs' parts, in the order in which it was done.
  static std::vector<GpuPart::Kind> take_combined();

 private:
  void combine(std::span<const GpuPart> parts);

  PretendGpuPlatform& platform_;
  std::vector<LogicalDevice> gpus_;
};

/// For GpuCommunicatorsScope, on the PretendGpuPlatform in place.
MakeCommunicators make_pretend_communicators;

}  // namespace lockstep::test
