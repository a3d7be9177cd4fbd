#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <support/pretend_gpu/platform.h>

#include <lockstep/strategy/collective/nccl/gpu_communicators.h>

namespace lockstep::test {

/// What pretended GPUs combine values by: in replica order. What is enqueued for all is done when one of their
/// communication streams comes to it, the rest when the last replica comes with its part. Parts that do not fit
/// together, or come in another order, which NCCL would hang on, are a BrokenInvariant.
class PretendGpuCommunicators final : public GpuCommunicators {
 public:
  /// On `platform`, which outlives this.
  PretendGpuCommunicators(PretendGpuPlatform& platform, std::vector<LogicalDevice> gpus);
  /// Waits for what has been enqueued.
  ~PretendGpuCommunicators() override;
  PretendGpuCommunicators(const PretendGpuCommunicators&) = delete;
  PretendGpuCommunicators& operator=(const PretendGpuCommunicators&) = delete;
  void enqueue(int replica, const char* what, std::span<const GpuPart> parts) override;
  void enqueue_for_all(const char* what, std::span<const GpuPart> parts) override;
  void abandon_step() override;

  /// What has been enqueued for all, by any of these: elements, in their order, of each call.
  static std::vector<std::size_t> take_enqueued_for_all();
  /// What all of these have been asked to make of GPUs' parts, in the order in which it was done.
  static std::vector<GpuPart::Kind> take_combined();

 private:
  void combine(std::span<const GpuPart> parts);

  PretendGpuPlatform& platform_;
  std::vector<LogicalDevice> gpus_;
  std::mutex mutex_;  ///< of what follows
  bool aborted_ = false;
  std::vector<std::size_t> calls_;                                    ///< by replica: of enqueue
  std::map<std::size_t, std::vector<std::vector<GpuPart>>> waiting_;  ///< by call: the parts of those who came
};

/// For GpuCommunicatorsScope, on the PretendGpuPlatform in place.
MakeCommunicators make_pretend_communicators;

}  // namespace lockstep::test
