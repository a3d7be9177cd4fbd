#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <support/pretend_gpu/streams.h>

// CUDA's runtime. The functions check their arguments more strictly than CUDA does where that finds mistakes.

namespace lockstep::test {
namespace {

constexpr int pinned = -1;  // the device number of pinned memory

thread_local int current_device = 0;
thread_local bool chose_device = false;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int captures_of_thread = 0;

cudaError_t result(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

/// Calls `f`, which carries out a CUDA function and returns its status, unless the call has to fail. The calling thread
/// needs no current device.
template <class F>
cudaError_t call_anywhere(const char* name, const F& f) {
  const cudaError_t failure = machine().enter(name);
  if (machine().gpus() == 0) return result(cudaErrorNoDevice);
  return result(failure != cudaSuccess ? failure : f());
}

/// Like call_anywhere, for functions that create a context on the current device. CUDA would create one on GPU 0.
template <class F>
cudaError_t call(const char* name, const F& f) {
  if (machine().gpus() > 0 && !chose_device) {
    std::fprintf(stderr, "%s is called by a thread that has not called cudaSetDevice\n", name);
    std::abort();
  }
  return call_anywhere(name, f);
}

bool is_device(int device) { return device >= 0 && device < machine().gpus(); }

/// Gives a stream work, to run later with the GPUs' memory open; if the stream captures, records the work.
cudaError_t give(cudaStream_t handle, std::function<void()> work) {
  const std::shared_ptr<Stream> stream = machine().stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!machine().takes_work(handle)) return cudaErrorInvalidConfiguration;
  auto with_access = [work = std::move(work)] { machine().memory().access(work); };
  if (stream->captured)
    stream->captured->push_back(std::move(with_access));
  else
    stream->give(std::move(with_access));
  return cudaSuccess;
}

/// Whether [address, address + bytes) is allocated memory of the stream's GPU.
bool on_gpu_of(cudaStream_t handle, const void* address, std::size_t bytes) {
  const std::shared_ptr<Stream> stream = machine().stream(handle);
  return stream && machine().in_piece(address, bytes, stream->device());
}

Event& event_of(cudaEvent_t handle) { return *reinterpret_cast<Event*>(handle); }

struct Graph {
  Works works;
};

/// The status of calls that a thread must not make while it captures.
cudaError_t unless_capturing() { return captures_of_thread > 0 ? cudaErrorStreamCaptureUnsupported : cudaSuccess; }

}  // namespace
}  // namespace lockstep::test

using namespace lockstep::test;

// Devices.

cudaError_t cudaGetDeviceCount(int* count) {
  return call_anywhere("cudaGetDeviceCount", [&] {
    *count = machine().gpus();
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return call_anywhere("cudaDriverGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call_anywhere("cudaGetDevice", [&] {
    *device = current_device;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call_anywhere("cudaSetDevice", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    current_device = device;
    chose_device = true;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call_anywhere("cudaGetDeviceProperties", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "pretended");
    properties->major = 9;
    properties->multiProcessorCount = 1;
    properties->totalGlobalMem = std::size_t{8} << 30;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call_anywhere("cudaDeviceCanAccessPeer", [&] {
    if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
    *can = machine().reaches(device, peer);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&] {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

// Memory.

cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* total) {
  return call("cudaMemGetInfo", [&] {
    *left = *total = std::size_t{8} << 30;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return call("cudaDeviceGetDefaultMemPool", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *pool = reinterpret_cast<cudaMemPool_t>(static_cast<std::intptr_t>(device) + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void*) {
  return call("cudaMemPoolSetAttribute", [&] { return pool ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count) {
  return call("cudaMemPoolSetAccess", [&] {
    const auto owner = static_cast<int>(reinterpret_cast<std::intptr_t>(pool)) - 1;
    for (std::size_t i = 0; i < count; ++i)
      if (access[i].location.type != cudaMemLocationTypeDevice || !is_device(access[i].location.id) ||
          access[i].location.id == owner)
        return cudaErrorInvalidDevice;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return call("cudaMemPoolTrimTo", [&] { return pool ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t handle) {
  return call("cudaMallocAsync", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream || stream->device() != current_device) return cudaErrorInvalidResourceHandle;
    if (stream->captured) return cudaErrorStreamCaptureUnsupported;  // CUDA would make it a part of the graph
    *memory = machine().memory().allocate(bytes);
    if (*memory == nullptr) return cudaErrorMemoryAllocation;
    machine().add_piece(*memory, bytes, stream->device());
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t handle) {
  return call("cudaFreeAsync", [&] {
    if (!machine().stream(handle)) return cudaErrorInvalidResourceHandle;
    const std::size_t bytes = machine().remove_piece(memory);
    if (bytes == 0) return cudaErrorInvalidValue;
    machine().stream(handle)->give([memory, bytes] {
      machine().memory().access([&] { std::memset(memory, 0xff, bytes); });  // later reads get NaN
      machine().memory().release(memory, bytes);
    });
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return call("cudaHostAlloc", [&] {
    if (const cudaError_t refused = unless_capturing(); refused != cudaSuccess) return refused;
    *memory = std::malloc(bytes);
    if (*memory == nullptr) return cudaErrorMemoryAllocation;
    machine().add_piece(*memory, bytes, pinned);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* memory) {
  return call("cudaFreeHost", [&] {
    if (const cudaError_t refused = unless_capturing(); refused != cudaSuccess) return refused;
    if (machine().remove_piece(memory) == 0) return cudaErrorInvalidValue;
    std::free(memory);
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  return call_anywhere("cudaPointerGetAttributes", [&] {
    *attributes = {};
    attributes->type = machine().in_piece(memory, 1, pinned) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] {
    const bool to_gpu = kind != cudaMemcpyDeviceToHost;
    const bool from_gpu = kind != cudaMemcpyHostToDevice;
    const bool fits = (to_gpu ? on_gpu_of(stream, to, bytes) : !machine().memory().contains(to)) &&
                      (from_gpu ? on_gpu_of(stream, from, bytes) : !machine().memory().contains(from));
    if (!fits) return cudaErrorInvalidValue;
    machine().note_copy(!from_gpu ? &Submissions::from_host
                        : to_gpu  ? &Submissions::between_gpus
                                  : &Submissions::to_host,
                        bytes);
    if (from_gpu || machine().in_piece(from, bytes, pinned)) return give(stream, [=] { std::memcpy(to, from, bytes); });
    const auto* const begin = static_cast<const std::byte*>(from);
    return give(stream, [to, values = std::vector<std::byte>(begin, begin + bytes)] {
      std::memcpy(to, values.data(), values.size());
    });
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int destination, const void* from, int source, std::size_t bytes,
                                cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&] {
    if (!machine().in_piece(to, bytes, destination) || !machine().in_piece(from, bytes, source))
      return cudaErrorInvalidValue;
    machine().note_copy(&Submissions::between_gpus, bytes);
    return give(stream, [=, corrupt = machine().corrupts(source, destination)] {
      std::memcpy(to, from, bytes);
      if (corrupt) static_cast<unsigned char*>(to)[bytes - 1] ^= 1;
    });
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] {
    if (!on_gpu_of(stream, memory, bytes)) return cudaErrorInvalidValue;
    machine().note(&Submissions::fills);
    return give(stream, [=] { std::memset(memory, value, bytes); });
  });
}

// Streams.

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return call("cudaStreamCreateWithPriority", [&] {
    *stream = machine().add(std::make_shared<Stream>(current_device));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&] {
    if (!machine().stream(stream)) return cudaErrorInvalidResourceHandle;
    machine().remove(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call("cudaStreamSynchronize", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->captured) return cudaErrorStreamCaptureUnsupported;
    machine().note(&Submissions::stream_waits);
    stream->await(stream->given());
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  return call("cudaStreamWaitEvent", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->captured) return cudaErrorStreamCaptureIsolation;
    const Event waited = event_of(event);
    if (waited.stream) stream->give_wait([waited] { waited.stream->await(waited.count); });
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t work, void* data) {
  return call("cudaLaunchHostFunc", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream || stream->captured) return cudaErrorInvalidResourceHandle;
    stream->give([=] {
      const bool chose = std::exchange(chose_device, false);  // host functions must not call CUDA
      work(data);
      chose_device = chose;
    });
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->captured || mode != cudaStreamCaptureModeThreadLocal) return cudaErrorIllegalState;
    stream->captured.emplace();
    stream->captures_for = std::this_thread::get_id();
    ++captures_of_thread;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream || !stream->captured) return cudaErrorIllegalState;
    if (stream->captures_for != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
    *graph = reinterpret_cast<cudaGraph_t>(new Graph{std::move(*stream->captured)});
    stream->captured.reset();
    --captures_of_thread;
    return cudaSuccess;
  });
}

// Graphs.

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiate", [&] {
    *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&] {
    delete reinterpret_cast<Graph*>(graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call("cudaGraphExecDestroy", [&] {
    delete reinterpret_cast<Graph*>(executable);
    return cudaSuccess;
  });
}

// The calling thread runs the work: kernels also allocate, e.g. memory for their own use, when they are launched.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  return call("cudaGraphLaunch", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream || stream->device() != current_device) return cudaErrorInvalidResourceHandle;
    machine().note(&Submissions::graphs);
    stream->await(stream->given());
    for (const auto& work : reinterpret_cast<Graph*>(executable)->works) work();
    return cudaSuccess;
  });
}

// Events.

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return call("cudaEventCreateWithFlags", [&] {
    *event = reinterpret_cast<cudaEvent_t>(new Event{.device = current_device});
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", [&] {
    delete &event_of(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return call("cudaEventRecord", [&] {
    const std::shared_ptr<Stream> stream = machine().stream(handle);
    if (!stream || stream->device() != event_of(event).device) return cudaErrorInvalidResourceHandle;
    if (stream->captured) return cudaErrorStreamCaptureUnsupported;  // CUDA would make it a part of the graph
    event_of(event).stream = stream;
    event_of(event).count = stream->given();
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&] {
    const Event asked = event_of(event);
    return !asked.stream || asked.stream->has_done(asked.count) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&] {
    machine().note(&Submissions::event_waits);
    const Event asked = event_of(event);
    if (asked.stream) asked.stream->await(asked.count);
    return cudaSuccess;
  });
}
