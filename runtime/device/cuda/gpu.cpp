#include "lockstep/runtime/device/cuda/gpu.h"

#include <memory>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep {
namespace {

/// The stream in which a thread captures, so that the capture does not include other threads' work in the compute
/// stream.
class CaptureStream {
 public:
  /// Creates the stream on the current GPU.
  CaptureStream() {
    int lowest = 0;
    int highest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, lowest), "cudaStreamCreateWithPriority");
  }
  ~CaptureStream() { cudaStreamDestroy(stream_); }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The capture of the calling thread; `gpu` is null if there is none.
struct Capture {
  const Gpu* gpu = nullptr;
  cudaStream_t stream = nullptr;
};
thread_local Capture capture;

constexpr const char* an_event = "an event between streams";

}  // namespace

void check_cuda(cudaError_t status, const char* call, const LogicalDevice& gpu) {
  if (status == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());  // clears the error, which later calls would return
  require<OutOfMemory>(status != cudaErrorMemoryAllocation, "{} failed on {}: {}", call, gpu.name(),
                       cudaGetErrorString(status));
  fail<DeviceError>("{} failed on {}: {} ({})", call, gpu.name(), cudaGetErrorString(status), cudaGetErrorName(status));
}

void check_cuda(cudaError_t status, const char* call) { check_cuda(status, call, current_context().device); }

Gpu::Gpu(const LogicalDevice& device) : device_(device), ordinal_(physical_gpu(device)) {
  make_current();
  int lowest = 0;
  int highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange", device_);
  // Communication has priority: all GPUs would wait for one whose part of an exchange is queued behind its computation.
  for (const StreamKind kind : stream_kinds)
    check_cuda(cudaStreamCreateWithPriority(&streams_[static_cast<std::size_t>(kind)], cudaStreamNonBlocking,
                                            kind == StreamKind::communication ? highest : lowest),
               "cudaStreamCreateWithPriority", device_);
}

cudaStream_t Gpu::stream(StreamKind kind) const {
  if (capture.gpu == nullptr) [[likely]]
    return own_stream(kind);
  if (capture.gpu != this) refuse_capture("work of another GPU");
  if (kind != StreamKind::compute) refuse_capture("work outside the compute stream");
  return capture.stream;
}

void Gpu::begin_capture() const {
  thread_local std::map<int, CaptureStream> streams;  // by index; kept, as libraries may remember the handles
  make_current();
  cudaStream_t const stream = streams[device_.index].get();
  // In thread-local mode other threads may make any CUDA call meanwhile, also allocate memory.
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture", device_);
  capture = {.gpu = this, .stream = stream};
}

cudaGraph_t Gpu::end_capture() const {
  const Capture ended = std::exchange(capture, {});
  make_current();
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(ended.stream, &graph), "cudaStreamEndCapture", device_);
  return graph;
}

void Gpu::make_current() const { check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice", device_); }

void Gpu::synchronize() {
  refuse_capture("a wait for a GPU");
  make_current();
  check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize", device_);
  throw_errors();
}

void Gpu::synchronize_streams() {
  refuse_capture("a wait for a GPU");
  make_current();
  for (cudaStream_t const stream : streams_)
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize", device_);
  throw_errors();
}

IndexFault* Gpu::index_fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (const auto known = faults_.find(what); known != faults_.end()) return known->second;
  refuse_capture("the first check of indices");
  make_current();
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(IndexFault), cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc",
             device_);
  return faults_[what] = new (memory) IndexFault;
}

void Gpu::set_error(std::string message) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(message);
}

void Gpu::throw_errors() {
  const std::lock_guard lock(mutex_);
  if (!error_.empty()) fail<DeviceError>("{}: {}", device_.name(), std::exchange(error_, {}));
  for (auto& [what, fault] : faults_) {
    const unsigned long long place = std::exchange(fault->first, IndexFault::none);
    require(place == IndexFault::none, "{}: element {} is out of range, on {}", what, place, device_.name());
  }
}

void Gpu::wait_for(const Gpu& other) const {
  if (&other == this) return;
  CudaEvent reached(other);  // CUDA keeps a destroyed event until no stream waits for it
  reached.record({other.device()});
  reached.make_wait({device_});
}

CudaEvent::CudaEvent(const Gpu& gpu) : gpu_(gpu) {
  gpu.make_current();
  // With blocking synchronization a waiting thread sleeps and leaves its core to the replicas.
  check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync),
             "cudaEventCreateWithFlags", gpu.device());
}

CudaEvent::~CudaEvent() {
  cudaSetDevice(gpu_.ordinal());
  cudaEventDestroy(event_);
}

void CudaEvent::record(const Stream& stream) {
  refuse_capture(an_event);
  gpu_.make_current();
  check_cuda(cudaEventRecord(event_, gpu_.stream(stream.kind)), "cudaEventRecord", gpu_.device());
}

void CudaEvent::make_wait(const Stream& stream) const {
  refuse_capture(an_event);
  const Gpu& waiting = gpu(stream.gpu);
  waiting.make_current();
  check_cuda(cudaStreamWaitEvent(waiting.stream(stream.kind), event_), "cudaStreamWaitEvent", stream.gpu);
}

void CudaEvent::synchronize() const {
  refuse_capture(an_event);
  gpu_.make_current();
  check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize", gpu_.device());
}

Gpu& gpu(const LogicalDevice& device) {
  thread_local Gpu* last = nullptr;  // most threads use only one GPU
  if (last != nullptr && last->device() == device) return *last;
  static std::mutex mutex;
  static auto& gpus = *new std::map<int, std::unique_ptr<Gpu>>;  // never destroyed: tensors in static storage use it
  const std::lock_guard lock(mutex);
  std::unique_ptr<Gpu>& found = gpus[device.index];
  if (!found) found = std::make_unique<Gpu>(device);
  last = found.get();
  return *last;
}

Gpu& current_gpu() {
  Gpu& current = gpu(current_context().device);
  current.make_current();
  return current;
}

}  // namespace lockstep
