#include "lockstep/runtime/device/gpu_capture.h"

namespace lockstep {
namespace {

thread_local GpuCapture* capture = nullptr;
thread_local CaptureWarmUp* warm_up = nullptr;

}  // namespace

void CapturedWork::launch() const {
  for (const Piece& piece : pieces_) {
    if (piece.graph)
      piece.graph->launch();
    else
      piece.action();
  }
}

GpuCapture::GpuCapture(const LogicalDevice& gpu) : gpu_(gpu) {
  require<LogicError>(capture == nullptr, "work of {} is to be captured by a thread that captures already", gpu.name());
  gpu_platform().begin_capture(gpu_);
  capture = this;
}

GpuCapture::~GpuCapture() {
  capture = nullptr;
  if (!noting_) return;
  try {
    gpu_platform().end_capture(gpu_);
  } catch (const Error&) {  // NOLINT: the graph is discarded, or its error has already been thrown
  }
}

void GpuCapture::end_graph() {
  noting_ = false;
  work_.pieces_.push_back({.graph = gpu_platform().end_capture(gpu_)});
  gpu_platform().begin_capture(gpu_);
  noting_ = true;
}

CapturedWork GpuCapture::take() {
  end_graph();
  return std::exchange(work_, {});
}

void GpuCapture::each_time(const std::function<void()>& action) {
  if (capture != nullptr) {
    capture->end_graph();
    capture->work_.pieces_.push_back({.action = action});
    return;
  }
  action();
  if (warm_up != nullptr) warm_up->actions_.push_back(action);
}

CaptureWarmUp::CaptureWarmUp() { warm_up = this; }

CaptureWarmUp::~CaptureWarmUp() { warm_up = nullptr; }

void refuse_capture(const char* what) {
  if (capture != nullptr) [[unlikely]]
    fail<NotCapturable>("{} cannot be captured", what);
}

}  // namespace lockstep
