#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep {

/// A thread's captured work for a GPU: graphs, and host actions between them that run at each launch.
class CapturedWork {
 public:
  CapturedWork() = default;
  /// Enqueues the graphs on their GPU and runs the actions on the calling thread, in order. Precondition: the thread's
  /// device is that GPU. Throws whatever the graphs and actions throw.
  void launch() const;

 private:
  friend class GpuCapture;
  /// Either a graph or a host action.
  struct Piece {
    std::unique_ptr<GpuGraph> graph{};
    std::function<void()> action{};
  };
  std::vector<Piece> pieces_;
};

/// Captures the calling thread's work for a GPU instead of executing it. The addresses that the work uses must stay
/// valid for every launch (MemoryPool). Other threads' work on that GPU is not affected.
class GpuCapture {
 public:
  /// Begins the capture. Throws the same errors as GpuPlatform::begin_capture and also LogicError if the thread is
  /// already capturing.
  explicit GpuCapture(const LogicalDevice& gpu);
  /// Ends the capture and discards the work that has not been taken.
  ~GpuCapture();
  GpuCapture(const GpuCapture&) = delete;
  GpuCapture& operator=(const GpuCapture&) = delete;

  /// Returns the work captured since the last call and continues capturing. Throws DeviceError, which ends the capture.
  CapturedWork take();

  /// Runs `action` now or, if the calling thread is capturing, at this point of each launch. Use it for host code that
  /// uses the same memory in every launch but has a different result each time, such as drawing a random key. The
  /// captured work or the CaptureWarmUp keeps `action`, and with it the tensors that `action` holds.
  static void each_time(const std::function<void()>& action);

 private:
  void end_graph();

  LogicalDevice gpu_;
  bool noting_ = true;
  CapturedWork work_;
};

/// The warm-up of a capture: during its lifetime, GpuCapture::each_time keeps the actions of the calling thread, as it
/// does during a capture. The warm-up therefore needs the same memory as the capture of the same work.
class CaptureWarmUp {
 public:
  /// Begins the warm-up, which lasts until the scope ends. Warm-ups do not nest.
  CaptureWarmUp();
  ~CaptureWarmUp();
  CaptureWarmUp(const CaptureWarmUp&) = delete;
  CaptureWarmUp& operator=(const CaptureWarmUp&) = delete;

 private:
  friend class GpuCapture;
  std::vector<std::function<void()>> actions_;
};

}  // namespace lockstep
