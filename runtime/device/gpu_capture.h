#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep {

/// Work of a GPU as a thread has captured it: graphs, and between them what the host decides anew each time.
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

/// Notes what the calling thread gives a GPU to compute instead of having it done: what it works on, by address, has to
/// be there whenever it is launched (MemoryPool). Other threads' work on that GPU goes on as ever.
class GpuCapture {
 public:
  /// Begins. Throws as GpuPlatform::begin_capture, and LogicError when the thread captures already.
  explicit GpuCapture(const LogicalDevice& gpu);
  /// Ends; what has not been taken is forgotten.
  ~GpuCapture();
  GpuCapture(const GpuCapture&) = delete;
  GpuCapture& operator=(const GpuCapture&) = delete;

  /// What has been noted since it began, or since the last call; goes on. Throws DeviceError; then it has ended.
  CapturedWork take();

  /// For work that is another one each time, though on the same memory, as where random numbers are drawn: does
  /// `action` now or, when the calling thread captures, at each launch, in its place. What it holds is kept until then.
  static void each_time(const std::function<void()>& action);

 private:
  void end_graph();

  LogicalDevice gpu_;
  bool noting_ = true;
  CapturedWork work_;
};

/// While one of these lives, the calling thread keeps memory for as long as a capture of the same work would.
class CaptureRehearsal {
 public:
  /// Until the scope ends; they do not nest.
  CaptureRehearsal();
  ~CaptureRehearsal();
  CaptureRehearsal(const CaptureRehearsal&) = delete;
  CaptureRehearsal& operator=(const CaptureRehearsal&) = delete;

 private:
  friend class GpuCapture;
  std::vector<std::function<void()>> actions_;
};

}  // namespace lockstep
