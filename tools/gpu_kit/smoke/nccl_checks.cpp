// Checks NCCL with one rank, called as the library calls it: non-blocking communicators, grouped calls, polling.

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include <dlfcn.h>
#include <nccl.h>

#include "array.h"
#include "check.h"
#include "kernels.h"

namespace lockstep::smoke {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{10};

void check_nccl(ncclResult_t status, const char* call) {
  require<DeviceError>(status == ncclSuccess || status == ncclInProgress, "{}: {}; {}", call,
                       ncclGetErrorString(status), ncclGetLastError(nullptr));
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Communicator {
 public:
  explicit Communicator(int blocking = 0) {
    ncclUniqueId id{};
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking;
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    check_nccl(ncclCommInitRankConfig(&communicator_, 1, id, 0, &config), "ncclCommInitRankConfig");
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    settle("connecting");
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  ncclComm_t get() const { return communicator_; }
  void settle(const char* what) const {
    for (const auto end = Clock::now() + patience;;) {
      ncclResult_t state = ncclSuccess;
      check_nccl(ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
      check_nccl(state, what);
      if (state == ncclSuccess) return;
      require<DeviceError>(Clock::now() < end, "{} takes longer than {} s", what, patience.count());
      std::this_thread::yield();
    }
  }
  /// Calls `enqueue` in an NCCL group.
  template <class Enqueue>
  void group(const Enqueue& enqueue) const {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    enqueue();
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    settle("a group");
  }
  template <class T>
  void all_reduce(const T* from, T* to, std::size_t size, ncclDataType_t type, ncclRedOp_t op,
                  cudaStream_t stream) const {
    group([&] { check_nccl(ncclAllReduce(from, to, size, type, op, communicator_, stream), "ncclAllReduce"); });
  }
  /// Must be called once, at the end.
  void finalize() const {
    check_nccl(ncclCommFinalize(communicator_), "ncclCommFinalize");
    settle("the end");
    check_nccl(ncclCommDestroy(communicator_), "ncclCommDestroy");
  }

 private:
  ncclComm_t communicator_ = nullptr;
};

std::string see_init_and_finalize() {
  const auto begin = Clock::now();
  const Communicator communicator;
  const double made = milliseconds_since(begin);
  const auto end = Clock::now();
  communicator.finalize();
  return fmt::format("made in {:.0f} ms, ended in {:.0f} ms", made, milliseconds_since(end));
}

template <class T>
void see_reductions(const Communicator& communicator, const Stream& stream, ncclDataType_t type,
                    std::initializer_list<ncclRedOp_t> operations) {
  const std::vector<T> given = eighths<T>(100'003, 1);
  const Array<T> values(given);
  for (const ncclRedOp_t operation : operations) {
    const Array<T> result(std::vector<T>(given.size(), T(-3)));
    communicator.all_reduce(values.get(), result.get(), given.size(), type, operation, stream.get());
    compared(as_double(result.values()), as_double(given), 0);
    communicator.all_reduce(values.get(), values.get(), given.size(), type, operation, stream.get());
    compared(as_double(values.values()), as_double(given), 0);
  }
}

std::string see_all_reduce() {
  const Communicator communicator;
  const Stream stream;
  see_reductions<float>(communicator, stream, ncclFloat32, {ncclSum, ncclProd});
  see_reductions<bfloat16>(communicator, stream, ncclBfloat16, {ncclSum});
  see_reductions<std::int32_t>(communicator, stream, ncclInt32, {ncclSum, ncclProd});
  see_reductions<std::int64_t>(communicator, stream, ncclInt64, {ncclSum, ncclProd});
  communicator.finalize();
  return "sum and product, f32, bf16, i32 and i64, in place and not";
}

std::string see_all_gather() {
  const Communicator communicator;
  const Stream stream;
  const std::vector<float> given = eighths<float>(1003, 1);
  const Array<float> values(given);
  const Array<float> result(std::vector<float>(given.size(), -3));
  communicator.group([&] {
    check_nccl(ncclAllGather(values.get(), result.get(), given.size(), ncclFloat32, communicator.get(), stream.get()),
               "ncclAllGather");
  });
  const std::string seen = compared(as_double(result.values()), as_double(given), 0);
  communicator.finalize();
  return seen;
}

/// All-reduces several parts in one group, as the library does for a replica's values.
std::string see_group_of_several() {
  const Communicator communicator;
  const Stream stream;
  const std::vector<float> given = eighths<float>(1003, 1);
  const Array<float> values(given);
  const Array<float> first(std::vector<float>(given.size(), -3));
  const Array<float> second(std::vector<float>(given.size(), -3));
  communicator.group([&] {
    for (const Array<float>* const to : {&first, &second})
      check_nccl(
          ncclAllReduce(values.get(), to->get(), given.size(), ncclFloat32, ncclSum, communicator.get(), stream.get()),
          "ncclAllReduce");
  });
  compared(as_double(first.values()), as_double(given), 0);
  const std::string seen = compared(as_double(second.values()), as_double(given), 0);
  communicator.finalize();
  return seen;
}

/// Enqueues a collective, as another replica's thread would, while this one captures.
std::string see_capture_beside() {
  const Communicator communicator;
  const Stream capturing;
  const Stream stream;
  const std::vector<float> given = eighths<float>(1003, 1);
  const Array<float> values(given);
  const Array<float> result(std::vector<float>(given.size(), -3));
  check_cuda(cudaStreamBeginCapture(capturing.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  std::string error;
  std::jthread([&] {
    try {
      communicator.all_reduce(values.get(), result.get(), given.size(), ncclFloat32, ncclSum, stream.get());
      stream.wait();
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
  }).join();
  launch_add(values.get(), 1, 1, capturing.get());
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(capturing.get(), &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  require<DeviceError>(error.empty(), "{}", error);
  const std::string seen = compared(as_double(result.values()), as_double(given), 0);
  communicator.finalize();
  return seen;
}

/// Tests whether NCCL supports captured collectives; the library does not capture them.
std::string see_captured_all_reduce() {
  const Communicator communicator;
  const Stream stream;
  const std::vector<float> given = eighths<float>(1003, 1);
  const Array<float> values(given);
  const Array<float> result(std::vector<float>(given.size(), -3));
  check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    communicator.all_reduce(values.get(), result.get(), given.size(), ncclFloat32, ncclSum, stream.get());
  } catch (const DeviceError& error) {
    throw Skipped{fmt::format("communicators that do not block are not captured: {}", error.what())};
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  check_cuda(cudaGraphLaunch(executable, stream.get()), "cudaGraphLaunch");
  const std::string seen = compared(as_double(result.values()), as_double(given), 0);
  check_cuda(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  communicator.finalize();
  return seen;
}

std::string see_abort() {
  const Communicator idle;
  check_nccl(ncclCommAbort(idle.get()), "ncclCommAbort");
  const Communicator next;
  const Stream stream;
  const Array<float> values(std::vector<float>(100, 1));
  next.all_reduce(values.get(), values.get(), 100, ncclFloat32, ncclSum, stream.get());
  const auto begin = Clock::now();
  check_nccl(ncclCommAbort(next.get()), "ncclCommAbort");
  const double took = milliseconds_since(begin);
  return fmt::format("in {:.1f} ms, after an all-reduce; then: {}", took, see_init_and_finalize());
}

/// Revokes the communicator and waits until it is done, as the library's watchdog does. Returns ms.
double revoke(const Communicator& communicator) {
  const auto function = reinterpret_cast<ncclResult_t (*)(ncclComm_t, int)>(dlsym(RTLD_DEFAULT, "ncclCommRevoke"));
  if (function == nullptr) throw Skipped{"this NCCL has no ncclCommRevoke"};
  const auto begin = Clock::now();
  check_nccl(function(communicator.get(), 0), "ncclCommRevoke");
  communicator.settle("the revocation");
  return milliseconds_since(begin);
}

std::string see_revoke() {
  const Communicator communicator;
  const double took = revoke(communicator);
  check_nccl(ncclCommAbort(communicator.get()), "ncclCommAbort");
  return fmt::format("in {:.1f} ms", took);
}

/// Aborts a collective behind a kernel that does not end, the watchdog's last resort.
std::string see_abort_behind_a_kernel_that_does_not_end() {
  const Communicator communicator;
  const Stream stream;
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  auto* const released = new (memory) volatile int(0);
  const Array<float> values(std::vector<float>(1000, 1));
  const Array<float> result(std::vector<float>(1000, 0));
  launch_wait_for(released, stream.get());
  communicator.all_reduce(values.get(), result.get(), 1000, ncclFloat32, ncclSum, stream.get());
  const auto begin = Clock::now();
  std::string text;
  std::jthread aborting([&] {
    try {
      text = fmt::format("revoked in {:.1f} ms, ", revoke(communicator));
    } catch (const DeviceError& error) {
      text = fmt::format("not revoked ({}), ", error.what());
    } catch (const Skipped& skipped) {
      text = skipped.why + ", ";
    }
    const auto before_abort = Clock::now();
    const ncclResult_t status = ncclCommAbort(communicator.get());
    text += fmt::format("aborted in {:.1f} ms: {}", milliseconds_since(before_abort), ncclGetErrorString(status));
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  *released = 1;
  aborting.join();
  const double took = milliseconds_since(begin);
  stream.wait();
  check_cuda(cudaFreeHost(memory), "cudaFreeHost");
  return fmt::format("{}; {} the kernel's end", text, took < 1900 ? "before" : "after");
}

/// Time of one grouped all-reduce in us; `blocking` as in ncclConfig_t.
double group_cost(int blocking) {
  const Communicator communicator(blocking);
  const Stream stream;
  const Array<float> values(std::vector<float>(1000, 1));
  constexpr int groups = 200;
  const auto all_reduce = [&] {
    communicator.all_reduce(values.get(), values.get(), 1000, ncclFloat32, ncclSum, stream.get());
  };
  for (int i = 0; i < 20; ++i) all_reduce();
  stream.wait();
  const auto begin = Clock::now();
  for (int i = 0; i < groups; ++i) all_reduce();
  const double cost = 1000 * milliseconds_since(begin) / groups;
  stream.wait();
  communicator.finalize();
  return cost;
}

std::string see_group_cost() {
  return fmt::format("{:.1f} us a group that does not block, {:.1f} us one that blocks", group_cost(0), group_cost(1));
}

/// Shortest time in ms of several steps with 2 ms of computing. During the second half, gradients are exchanged for
/// `exchange_us`; 0: no exchange.
double step(const Communicator& communicator, std::int64_t exchange_us) {
  const Stream compute;
  const Stream communication;
  const Array<float> values(std::vector<float>(1'000'000, 1));
  cudaEvent_t final_ = nullptr;
  cudaEvent_t summed = nullptr;
  check_cuda(cudaEventCreateWithFlags(&final_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check_cuda(cudaEventCreateWithFlags(&summed, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 10; ++turn) {
    const auto begin = Clock::now();
    launch_delay(1'000'000, compute.get());
    if (exchange_us > 0) {
      check_cuda(cudaEventRecord(final_, compute.get()), "cudaEventRecord");
      check_cuda(cudaStreamWaitEvent(communication.get(), final_), "cudaStreamWaitEvent");
      launch_delay(exchange_us * 1000, communication.get());
      communicator.all_reduce(values.get(), values.get(), 1'000'000, ncclFloat32, ncclSum, communication.get());
      check_cuda(cudaEventRecord(summed, communication.get()), "cudaEventRecord");
    }
    launch_delay(1'000'000, compute.get());
    if (exchange_us > 0) check_cuda(cudaStreamWaitEvent(compute.get(), summed), "cudaStreamWaitEvent");
    compute.wait();
    best = std::min(best, milliseconds_since(begin));
  }
  check_cuda(cudaEventDestroy(final_), "cudaEventDestroy");
  check_cuda(cudaEventDestroy(summed), "cudaEventDestroy");
  return best;
}

std::string see_exposed_time() {
  const Communicator communicator;
  const double alone = step(communicator, 0);
  const double hidden = step(communicator, 500);
  const double longer = step(communicator, 1500);
  communicator.finalize();
  return fmt::format(
      "a step of {:.3f} ms is {:.3f} ms longer with an exchange of 0.5 ms beside its last 1 ms, and "
      "{:.3f} ms with one of 1.5 ms, 0.5 ms of which cannot be hidden",
      alone, hidden - alone, longer - alone);
}

}  // namespace

std::vector<Check> nccl_checks() {
  return {{"nccl_init_and_finalize", see_init_and_finalize},
          {"nccl_all_reduce", see_all_reduce},
          {"nccl_all_gather", see_all_gather},
          {"nccl_group_of_several", see_group_of_several},
          {"nccl_capture_beside", see_capture_beside},
          {"nccl_captured_all_reduce", see_captured_all_reduce},
          {"nccl_abort", see_abort},
          {"nccl_revoke", see_revoke},
          {"nccl_abort_behind_a_kernel_that_does_not_end", see_abort_behind_a_kernel_that_does_not_end},
          {"nccl_group_cost", see_group_cost, true},
          {"nccl_exposed_time", see_exposed_time, true}};
}

}  // namespace lockstep::smoke
