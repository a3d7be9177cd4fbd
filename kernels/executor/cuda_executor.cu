#include <bit>
#include <limits>

#include <cub/device/device_radix_sort.cuh>

#include <lockstep/kernels/executor/cuda_executor.cuh>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep::cuda {

void launch(const Gpu& gpu, const void* kernel, unsigned blocks, void** arguments) {
  cudaLaunchKernel(kernel, blocks, block_threads, arguments, 0, gpu.stream());
  check_cuda(cudaGetLastError(), "a kernel's launch");
}

double CudaExecutor::value_at(const double* pointer) {
  refuse_capture("a value read by the host");
  if (contracts::checked())
    contracts::check("value_at", Stream{gpu_.device()}, {{pointer, sizeof(double), alignof(double)}});
  double value = 0;
  check_cuda(cudaMemcpyAsync(&value, pointer, sizeof value, cudaMemcpyDeviceToHost, gpu_.stream()), "cudaMemcpyAsync");
  gpu_.synchronize();
  return value;
}

kernels::SortedKeys CudaExecutor::sort(const Tensor& keys, Index bound) {
  const Index n = keys.elements();
  require<Unsupported>(n <= std::numeric_limits<int>::max(), "at most {} elements can be sorted on a GPU, got {}",
                       std::numeric_limits<int>::max(), n);
  kernels::SortedKeys sorted{Tensor::empty({n}, DType::i64), Tensor::empty({n}, DType::i64)};
  if (n == 0) return sorted;
  const Tensor places = Tensor::empty({n}, DType::i64);
  auto* const place = places.data<std::int64_t>();
  for_each(n, [=] LOCKSTEP_HOST_DEVICE(Index i) { place[i] = i; });
  // A radix sort is stable. Keys are less than `bound` and not negative: it sorts by the lower bits only.
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bound - 1))));
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    check_cuda(cub::DeviceRadixSort::SortPairs(
                   scratch, bytes, keys.data<std::int64_t>(), sorted.keys.data<std::int64_t>(), place,
                   sorted.places.data<std::int64_t>(), static_cast<int>(n), 0, bits, gpu_.stream()),
               "cub::DeviceRadixSort::SortPairs");
  };
  sort(nullptr);  // computes the size of the scratch memory
  const Tensor scratch = Tensor::empty({static_cast<Index>(bytes)}, DType::u8);
  sort(scratch.raw_data());
  return sorted;
}

}  // namespace lockstep::cuda
