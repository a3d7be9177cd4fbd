// Checks CUDA's devices, memory, copies, streams and events.

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <cudnn.h>
#include <nccl.h>

#include "array.h"
#include "check.h"
#include "kernels.h"

namespace lockstep::smoke {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

std::string see_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) throw Skipped{fmt::format("cudaGetDeviceCount: {}", cudaGetErrorString(status))};
  if (count == 0) throw Skipped{"the CUDA driver reports no device"};
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  int driver = 0;
  int runtime = 0;
  int nccl = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  require<DeviceError>(ncclGetVersion(&nccl) == ncclSuccess, "ncclGetVersion failed");
  return fmt::format("{} x {}, compute capability {}.{}, {} MiB; driver for CUDA {}, CUDA {}, cuDNN {}, NCCL {}", count,
                     properties.name, properties.major, properties.minor, properties.totalGlobalMem / mib,
                     version(driver), version(runtime), cudnnGetVersion(), nccl);
}

std::string see_kernel() {
  const Stream stream;
  const Array<float> values(std::vector<float>(1000, 1));
  launch_add(values.get(), 1000, 2, stream.get());
  return compared(as_double(values.values()), std::vector<double>(1000, 3), 0);
}

std::string see_many_arguments() {
  const Stream stream;
  ManyArguments arguments{};
  std::iota(std::begin(arguments.values), std::end(arguments.values), 1.0F);
  const Array<float> sum({0});
  launch_sum(arguments, sum.get(), stream.get());
  return compared(as_double(sum.values()), {500500}, 0);
}

std::string see_stream_priorities() {
  int lowest = 0;
  int highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest), "cudaStreamCreateWithPriority");
  check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return fmt::format("from {} to {}", lowest, highest);
}

/// The memory pool, set up as the library sets up the one it allocates from.
cudaMemPool_t pool() {
  cudaMemPool_t found = nullptr;
  check_cuda(cudaDeviceGetDefaultMemPool(&found, 0), "cudaDeviceGetDefaultMemPool");
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  check_cuda(cudaMemPoolSetAttribute(found, cudaMemPoolAttrReleaseThreshold, &keep_all), "cudaMemPoolSetAttribute");
  return found;
}

std::uint64_t reserved(cudaMemPool_t pool) {
  std::uint64_t bytes = 0;
  check_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes), "cudaMemPoolGetAttribute");
  return bytes;
}

std::string see_pool() {
  cudaMemPool_t const memory = pool();
  const Stream stream;
  void* piece = nullptr;
  check_cuda(cudaMallocAsync(&piece, 64 * mib, stream.get()), "cudaMallocAsync");
  require<DeviceError>(reinterpret_cast<std::uintptr_t>(piece) % 256 == 0, "memory is not aligned to 256 bytes");
  check_cuda(cudaMemsetAsync(piece, 0, 64 * mib, stream.get()), "cudaMemsetAsync");
  check_cuda(cudaFreeAsync(piece, stream.get()), "cudaFreeAsync");
  stream.wait();
  const std::uint64_t kept = reserved(memory);
  require<DeviceError>(kept >= 64 * mib, "the pool keeps {} bytes after a synchronization", kept);
  check_cuda(cudaMemPoolTrimTo(memory, 0), "cudaMemPoolTrimTo");
  const std::uint64_t left = reserved(memory);
  require<DeviceError>(left < kept, "the pool keeps {} of {} bytes when it is trimmed", left, kept);
  return fmt::format("keeps {} MiB until it is trimmed to {}", kept / mib, left / mib);
}

std::string see_out_of_memory() {
  pool();
  const Stream stream;
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  void* piece = nullptr;
  const cudaError_t status = cudaMallocAsync(&piece, 2 * total, stream.get());
  require<DeviceError>(status == cudaErrorMemoryAllocation, "{} bytes of {} give {}", 2 * total, total,
                       cudaGetErrorName(status));
  static_cast<void>(cudaGetLastError());
  return fmt::format("{}; afterwards: {}", cudaGetErrorName(status), see_kernel());
}

std::string see_peer_access() {
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count == 1) throw Skipped{"there is one GPU"};
  cudaMemPool_t const memory = pool();
  std::string reached;
  for (int peer = 1; peer < count; ++peer) {
    int reachable = 0;
    check_cuda(cudaDeviceCanAccessPeer(&reachable, peer, 0), "cudaDeviceCanAccessPeer");
    if (reachable == 0) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = peer;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check_cuda(cudaMemPoolSetAccess(memory, &access, 1), "cudaMemPoolSetAccess");
    reached += fmt::format(" GPU:{}", peer);
  }
  return fmt::format("the pool of GPU:0 is open to{}", reached.empty() ? " none" : reached);
}

/// Copies from pageable host memory as the library does: the source may change once the call has returned, even if the
/// copy has not yet run.
std::string see_copies_from_pageable_memory() {
  const Stream stream;
  std::string seen;
  for (const std::int64_t size : {1, 256, 16 << 10, (16 << 10) + 1, 1 << 20, 16 << 20}) {
    const std::vector<float> given = fine_values(size, 1);
    std::vector<float> source = given;
    const Array<float> values(std::vector<float>(source.size(), 0));
    launch_delay(5'000'000, stream.get());
    check_cuda(cudaMemcpyAsync(values.get(), source.data(), values.bytes(), cudaMemcpyHostToDevice, stream.get()),
               "cudaMemcpyAsync");
    std::ranges::fill(source, -2.0F);
    seen = compared(as_double(values.values()), as_double(given), 0);
  }
  return seen;
}

std::string see_copies_with_pinned_memory() {
  const Stream stream;
  void* memory = nullptr;
  const std::size_t bytes = 4 * mib;
  check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  std::memset(memory, 7, bytes);
  const Array<unsigned char> values(std::vector<unsigned char>(bytes, 0));
  check_cuda(cudaMemcpyAsync(values.get(), memory, bytes, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  stream.wait();
  const std::vector<unsigned char> found = values.values();
  check_cuda(cudaFreeHost(memory), "cudaFreeHost");
  require<DeviceError>(found == std::vector<unsigned char>(bytes, 7), "other bytes arrive than were sent");
  return fmt::format("{} bytes, exact", bytes);
}

std::string see_mapped_atomic_min() {
  const Stream stream;
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(IndexFault), cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  auto* const fault = new (memory) IndexFault;
  void* seen_by_gpu = nullptr;
  check_cuda(cudaHostGetDevicePointer(&seen_by_gpu, memory, 0), "cudaHostGetDevicePointer");
  require<DeviceError>(seen_by_gpu == memory, "the GPU sees mapped memory at another address than the host");
  launch_lower(&fault->first, 12345, stream.get());
  stream.wait();
  require<DeviceError>(fault->first == 12345, "the least is {} instead of 12345", fault->first);
  check_cuda(cudaFreeHost(memory), "cudaFreeHost");
  return "the host sees the least of 16384 threads";
}

std::string see_events() {
  const Stream first;
  const Stream second;
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
             "cudaEventCreateWithFlags");
  const Array<float> values(std::vector<float>(1000, 1));
  for (int turn = 0; turn < 3; ++turn) {  // record the event again while it is waited for
    launch_delay(5'000'000, first.get());
    launch_add(values.get(), 1000, 1, first.get());
    check_cuda(cudaEventRecord(event, first.get()), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(second.get(), event), "cudaStreamWaitEvent");
    launch_add(values.get(), 1000, 1, second.get());
    check_cuda(cudaEventRecord(event, second.get()), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(first.get(), event), "cudaStreamWaitEvent");
  }
  const cudaError_t pending = cudaEventQuery(event);
  require<DeviceError>(pending == cudaErrorNotReady, "cudaEventQuery gives {}", cudaGetErrorName(pending));
  check_cuda(cudaEventSynchronize(event), "cudaEventSynchronize");
  check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
  // A result of cudaEventQuery must not become an error of later launches.
  launch_add(values.get(), 1000, 1, first.get());
  return compared(as_double(values.values()), std::vector<double>(1000, 8), 0);
}

std::string see_event_destroyed_while_it_is_waited_for() {
  const Stream first;
  const Stream second;
  const Array<float> values(std::vector<float>(1000, 1));
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  launch_delay(20'000'000, first.get());
  launch_add(values.get(), 1000, 1, first.get());
  check_cuda(cudaEventRecord(event, first.get()), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(second.get(), event), "cudaStreamWaitEvent");
  check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
  std::vector<float> copied(1000);
  check_cuda(cudaMemcpyAsync(copied.data(), values.get(), values.bytes(), cudaMemcpyDeviceToHost, second.get()),
             "cudaMemcpyAsync");
  second.wait();
  return compared(as_double(copied), std::vector<double>(1000, 2), 0);
}

std::string see_sort() {
  const Stream stream;
  constexpr int size = 10007;
  constexpr std::int64_t bound = 1000;
  std::vector<std::int64_t> keys(size);
  std::vector<std::int64_t> places(size);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i * 7919U % bound);
  std::iota(places.begin(), places.end(), 0);
  const Array<std::int64_t> unsorted(keys);
  const Array<std::int64_t> numbers(places);
  const Array<std::int64_t> sorted_keys(std::vector<std::int64_t>(size, -1));
  const Array<std::int64_t> sorted_places(std::vector<std::int64_t>(size, -1));
  const auto sort = [&](void* scratch, std::size_t bytes) {
    return sort_pairs(scratch, bytes, unsorted.get(), sorted_keys.get(), numbers.get(), sorted_places.get(), size, 10,
                      stream.get());
  };
  const std::size_t bytes = sort(nullptr, 0);
  const Array<unsigned char> scratch(std::vector<unsigned char>(bytes, 0));
  sort(scratch.get(), bytes);
  std::ranges::stable_sort(places, {}, [&](std::int64_t place) { return keys[static_cast<std::size_t>(place)]; });
  require<DeviceError>(sorted_places.values() == places, "the order is not that of a stable sort");
  return fmt::format("{} keys, stable", size);
}

}  // namespace

Check device_check() { return {"device", see_device}; }

std::vector<Check> cuda_checks() {
  return {{"cuda_kernel", see_kernel},
          {"cuda_many_arguments", see_many_arguments},
          {"cuda_stream_priorities", see_stream_priorities},
          {"cuda_pool", see_pool},
          {"cuda_out_of_memory", see_out_of_memory},
          {"cuda_peer_access", see_peer_access},
          {"cuda_copies_from_pageable_memory", see_copies_from_pageable_memory},
          {"cuda_copies_with_pinned_memory", see_copies_with_pinned_memory},
          {"cuda_mapped_atomic_min", see_mapped_atomic_min},
          {"cuda_events", see_events},
          {"cuda_event_destroyed_while_it_is_waited_for", see_event_destroyed_while_it_is_waited_for},
          {"cub_sort", see_sort}};
}

}  // namespace lockstep::smoke
