#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep {

/// A thread's captured work for a GPU: graphs, and between them actions of the host that run at each launch.
class CapturedWork {
 public:
  CapturedWork() = default;
  /// Enqueues it, on the thread's device. Throws what its parts throw.
  void launch() const;

 private:
  friend class GpuCapture;
  /// Either a graph or something for the host to do.
  struct Piece {
    std::unique_ptr<GpuGraph> graph{};
    std::function<void()> action{};
  };
  std::vector<Piece> pieces_;
};

/// Captures the calling thread's work for a GPU instead of executing it. The memory that the work uses, by address, has
/// to be there whenever it is launched (MemoryPool). Other threads' work on that GPU is not affected.
class GpuCapture {
 public:
  /// Begins. Throws as GpuPlatform::begin_capture, and LogicError when the thread captures already.
  explicit GpuCapture(const LogicalDevice& gpu);
  /// Ends; work that has not been taken is discarded.
  ~GpuCapture();
  GpuCapture(const GpuCapture&) = delete;
  GpuCapture& operator=(const GpuCapture&) = delete;

  /// The work captured since the last call; keeps capturing. Throws DeviceError, which ends the capture.
  CapturedWork take();

  /// For work that differs each time, though on the same memory, such as drawing random numbers: does
  /// `action` now or, when the calling thread captures, at each launch, in its place. What it holds is kept until then.
  static void each_time(const std::function<void()>& action);

 private:
  void end_graph();

  LogicalDevice gpu_;
  bool noting_ = true;
  CapturedWork work_;
};

/// The warm-up of a capture: while it lives, the calling thread keeps memory as long as a capture of that work would.
class CaptureWarmUp {
 public:
  /// Until the scope ends; they do not nest.
  CaptureWarmUp();
  ~CaptureWarmUp();
  CaptureWarmUp(const CaptureWarmUp&) = delete;
  CaptureWarmUp& operator=(const CaptureWarmUp&) = delete;

 private:
  friend class GpuCapture;
  std::vector<std::function<void()>> actions_;
};

}  // namespace lockstep
