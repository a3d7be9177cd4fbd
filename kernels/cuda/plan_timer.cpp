#include "lockstep/kernels/cuda/plan_timer.h"

#include <algorithm>
#include <array>
#include <limits>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::cudnn {
namespace {

/// Memory for an operand, filled with ones, since computing with uninitialized values may be slower. The GPU fills it;
/// copies from the host would take longer than all the timed runs.
Tensor filled_operand(const Layout& layout, DType dtype) {
  const Tensor result = Tensor::empty({layout.elements()}, dtype);
  launch(kernels::Fill{result, 1});
  return result;
}

}  // namespace

/// Measures the time between two points of a stream.
class PlanTimer::Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    for (cudaEvent_t& event : events_) check_cuda(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~Stopwatch() {
    for (cudaEvent_t event : events_)
      if (event != nullptr) cudaEventDestroy(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start() const { check_cuda(cudaEventRecord(events_[0], stream_), "cudaEventRecord"); }
  /// The time since start() in ms. Waits until the stream has reached the second point.
  double stop() const {
    check_cuda(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(events_[1]), "cudaEventSynchronize");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, events_[0], events_[1]), "cudaEventElapsedTime");
    return static_cast<double>(ms);
  }

 private:
  cudaStream_t stream_;
  std::array<cudaEvent_t, 2> events_{};
};

PlanTimer::PlanTimer(const Convolution& convolution, const Gpu& gpu, cudnnHandle_t handle)
    : gpu_(&gpu),
      handle_(handle),
      x_(filled_operand(convolution.x(), convolution.dtype)),
      kernel_(filled_operand(convolution.kernel(), convolution.dtype)),
      y_(filled_operand(convolution.y(), convolution.dtype)),
      bias_(filled_operand(convolution.bias_layout(), convolution.dtype)),
      stopwatch_(std::make_shared<Stopwatch>(gpu.stream())),
      least_(std::numeric_limits<double>::infinity()) {}

double PlanTimer::time_of(const ConvolutionPlan& plan, void* workspace) const {
  stopwatch_->start();
  plan.run(handle_, {.x = x_.raw_data(), .kernel = kernel_.raw_data(), .y = y_.raw_data(), .bias = bias_.raw_data()},
           workspace);
  return stopwatch_->stop();
}

double PlanTimer::operator()(const ConvolutionPlan& plan) try {
  const Tensor workspace = Tensor::empty({plan.workspace_bytes()}, DType::u8);
  time_of(plan, workspace.raw_data());
  std::array<double, 5> times{time_of(plan, workspace.raw_data())};
  if (times[0] > 2 * least_) return times[0];
  for (std::size_t i = 1; i < times.size(); ++i) times[i] = time_of(plan, workspace.raw_data());
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  least_ = std::min(least_, median);
  return median;
} catch (const Error&) {
  return std::numeric_limits<double>::infinity();
}

}  // namespace lockstep::cudnn
