#pragma once

#include <atomic>
#include <memory>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/device/stream.h>

namespace lockstep {

/// A batch in a GPU's memory that may still be on its way there, beside what the GPU computes. Its tensors are read
/// after `await` alone. Thread-safe.
class UploadedBatch {
 public:
  /// Begins the copies of what the GPU does not reach: `host` may change afterwards. Throws OutOfMemory, DeviceError.
  UploadedBatch(const Batch& host, const LogicalDevice& gpu);
  /// The GPU may have been given nothing yet that comes after the copies: their memory is not used again before them.
  ~UploadedBatch();
  UploadedBatch(const UploadedBatch&) = delete;
  UploadedBatch& operator=(const UploadedBatch&) = delete;

  /// What the GPU is given to compute from now on comes after the copies. The host does not wait.
  void await() const;
  /// The batch on the GPU.
  const Batch& batch() const { return batch_; }

 private:
  LogicalDevice gpu_;
  Batch batch_;
  std::shared_ptr<const Event> arrival_{};  ///< null when nothing had to be copied
  mutable std::atomic<bool> awaited_ = false;
};

}  // namespace lockstep
