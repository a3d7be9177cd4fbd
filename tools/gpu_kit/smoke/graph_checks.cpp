// Checks capture and replay of CUDA graphs as the library uses them: thread-local captures of one thread's stream.

#include <thread>

#include "array.h"
#include "check.h"
#include "kernels.h"

namespace lockstep::smoke {
namespace {

/// Captures the work enqueued in a stream as a graph.
class Graph {
 public:
  explicit Graph(const Stream& stream) : stream_(stream) {
    check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void end() {
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
    check_cuda(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
    check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  void launch(const Stream& stream) const { check_cuda(cudaGraphLaunch(executable_, stream.get()), "cudaGraphLaunch"); }

 private:
  const Stream& stream_;
  cudaGraphExec_t executable_ = nullptr;
};

std::string see_replay() {
  const Stream capturing;
  const Stream stream;
  const Array<float> values(std::vector<float>(1000, 1));
  const Array<float> copies(std::vector<float>(1000, 0));
  Graph graph(capturing);
  launch_add(values.get(), 1000, 1, capturing.get());
  check_cuda(cudaMemcpyAsync(copies.get(), values.get(), values.bytes(), cudaMemcpyDeviceToDevice, capturing.get()),
             "cudaMemcpyAsync");
  check_cuda(cudaMemsetAsync(values.get(), 0, sizeof(float), capturing.get()), "cudaMemsetAsync");
  graph.end();
  for (int turn = 0; turn < 5; ++turn) graph.launch(stream);
  std::vector<double> expected(1000, 6);
  expected[0] = 1;
  return compared(as_double(copies.values()), expected, 0);
}

/// Does what the library's other threads may do during a capture: uploads, allocations, waits.
void work_beside() {
  const Stream stream;
  void* pinned = nullptr;
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  check_cuda(cudaHostAlloc(&pinned, 4096, cudaHostAllocPortable), "cudaHostAlloc");
  check_cuda(cudaMallocAsync(&memory, 4096, stream.get()), "cudaMallocAsync");
  check_cuda(cudaMemcpyAsync(memory, pinned, 4096, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check_cuda(cudaEventRecord(event, stream.get()), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(event), "cudaEventSynchronize");
  check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
  check_cuda(cudaFreeAsync(memory, stream.get()), "cudaFreeAsync");
  stream.wait();
  check_cuda(cudaFreeHost(pinned), "cudaFreeHost");
}

std::string see_capture_beside_uploads() {
  const Stream capturing;
  const Array<float> values(std::vector<float>(1000, 1));
  Graph graph(capturing);
  launch_add(values.get(), 1000, 1, capturing.get());
  std::exception_ptr error;
  std::jthread([&] {
    try {
      work_beside();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  launch_add(values.get(), 1000, 1, capturing.get());
  graph.end();
  graph.launch(capturing);
  return compared(as_double(values.values()), std::vector<double>(1000, 3), 0);
}

/// Replays graphs one after the other with host work between them, as a training step does.
std::string see_graphs_one_behind_the_other() {
  const Stream capturing;
  const Stream stream;
  const Stream beside;
  const Array<float> values(std::vector<float>(1000, 0));
  Graph first(capturing);
  launch_add(values.get(), 1000, 1, capturing.get());
  first.end();
  Graph second(capturing);
  launch_add(values.get(), 1000, 2, capturing.get());
  second.end();
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  for (int turn = 0; turn < 10; ++turn) {
    first.launch(stream);
    check_cuda(cudaEventRecord(event, stream.get()), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(beside.get(), event), "cudaStreamWaitEvent");
    launch_add(values.get(), 1000, 4, beside.get());
    check_cuda(cudaEventRecord(event, beside.get()), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(stream.get(), event), "cudaStreamWaitEvent");
    second.launch(stream);
  }
  const std::string seen = compared(as_double(values.values()), std::vector<double>(1000, 70), 0);
  check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
  return seen;
}

}  // namespace

std::vector<Check> graph_checks() {
  return {{"graph_replay", see_replay},
          {"graph_capture_beside_uploads", see_capture_beside_uploads},
          {"graph_one_behind_the_other", see_graphs_one_behind_the_other}};
}

}  // namespace lockstep::smoke
