#include <cub/device/device_radix_sort.cuh>

#include <lockstep/runtime/device/cuda/gpu.h>

#include "kernels.h"

namespace lockstep::smoke {
namespace {

constexpr int threads = 256;
constexpr std::int64_t longest_wait = 20'000'000'000;

__device__ std::int64_t nanoseconds_now() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void add(float* values, int size, float summand) {
  const int i = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (i < size) values[i] += summand;
}

__global__ void lower(unsigned long long* place, unsigned long long least) {
  atomicMin_system(place, least + (gridDim.x - 1 - blockIdx.x) * threads + threadIdx.x);
}

__global__ void add_up(ManyArguments arguments, float* sum) {
  *sum = 0;
  for (const float value : arguments.values) *sum += value;
}

__global__ void delay(std::int64_t nanoseconds) {
  const std::int64_t end = nanoseconds_now() + nanoseconds;
  while (nanoseconds_now() < end) {
  }
}

__global__ void wait_for(const volatile int* released) {
  const std::int64_t end = nanoseconds_now() + longest_wait;
  while (*released == 0 && nanoseconds_now() < end) {
  }
}

void check_launch() { check_cuda(cudaGetLastError(), "a kernel's launch"); }

}  // namespace

void launch_add(float* values, int size, float summand, cudaStream_t stream) {
  add<<<(size + threads - 1) / threads, threads, 0, stream>>>(values, size, summand);
  check_launch();
}

void launch_lower(unsigned long long* place, unsigned long long least, cudaStream_t stream) {
  lower<<<64, threads, 0, stream>>>(place, least);
  check_launch();
}

void launch_sum(const ManyArguments& arguments, float* sum, cudaStream_t stream) {
  add_up<<<1, 1, 0, stream>>>(arguments, sum);
  check_launch();
}

void launch_delay(std::int64_t nanoseconds, cudaStream_t stream) {
  delay<<<1, 1, 0, stream>>>(nanoseconds);
  check_launch();
}

void launch_wait_for(const volatile int* released, cudaStream_t stream) {
  wait_for<<<1, 1, 0, stream>>>(released);
  check_launch();
}

std::size_t sort_pairs(void* scratch, std::size_t bytes, const std::int64_t* keys, std::int64_t* sorted_keys,
                       const std::int64_t* places, std::int64_t* sorted_places, int size, int bits,
                       cudaStream_t stream) {
  check_cuda(
      cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys, places, sorted_places, size, 0, bits, stream),
      "cub::DeviceRadixSort::SortPairs");
  return bytes;
}

}  // namespace lockstep::smoke
