#pragma once

#include <atomic>
#include <memory>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/device/stream.h>

namespace lockstep {

/// A batch that is being copied to a GPU concurrently with the GPU's computations. Call `await` before reading its
/// tensors. Thread-safe.
class UploadedBatch {
 public:
  /// Starts copying the tensors that are in host memory. `host` may change after this constructor returns. Throws
  /// OutOfMemory and whatever Uploads::begin throws.
  UploadedBatch(const Batch& host, const LogicalDevice& gpu);
  /// Calls await() if no call has succeeded, so that the batch's memory is not reused before the copies are done.
  ~UploadedBatch();
  UploadedBatch(const UploadedBatch&) = delete;
  UploadedBatch& operator=(const UploadedBatch&) = delete;

  /// Makes work that is enqueued in the GPU's compute stream from now on wait for the copies. The host does not wait.
  /// Throws the same errors as Stream::wait.
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
