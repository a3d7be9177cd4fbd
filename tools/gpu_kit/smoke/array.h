#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep::smoke {

/// Memory of the GPU, by the plainest of CUDA's calls.
template <class T>
class Array {
 public:
  /// A copy of these.
  explicit Array(const std::vector<T>& values) : size_(values.size()) {
    check_cuda(cudaMalloc(&memory_, size_ * sizeof(T)), "cudaMalloc");
    check_cuda(cudaMemcpy(memory_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Array() { cudaFree(memory_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return static_cast<T*>(memory_); }
  std::size_t bytes() const { return size_ * sizeof(T); }
  /// Waits for all work of the GPU.
  std::vector<T> values() const {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<T> result(size_);
    check_cuda(cudaMemcpy(result.data(), memory_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
  }

 private:
  std::size_t size_;
  void* memory_ = nullptr;
};

/// A stream that does not wait for CUDA's default one, as all of the library's.
class Stream {
 public:
  Stream() {
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, 0), "cudaStreamCreateWithPriority");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Eighths between -1 and 1: exact in bfloat16 and TensorFloat-32, as are sums of their products in f32, so that
/// results in f32 have one right value in any order of addition.
template <class T>
std::vector<T> eighths(std::int64_t size, std::uint32_t seed) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < size; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(T(static_cast<float>(static_cast<int>(seed >> 24U) % 17 - 8) / 8));
  }
  return values;
}

/// Between -1 and 1, with all 24 bits of f32.
inline std::vector<float> fine_values(std::int64_t size, std::uint32_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(static_cast<std::int32_t>(seed)) / 2147483648.0F);
  }
  return values;
}

template <class T>
std::vector<double> as_double(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T& value : values) result.push_back(static_cast<double>(static_cast<float>(value)));
  return result;
}

/// "96 values, exact". Throws DeviceError for a value that is further than `tolerance`, relative to the larger of it
/// and 1, from the expected one; NaN is expected where that is NaN.
std::string compared(const std::vector<double>& found, const std::vector<double>& expected, double tolerance);

/// What a result of type T may differ by from the exact one: half a unit of the last place, and as much again for a
/// library that rounds twice.
template <class T>
constexpr double rounding = std::is_same_v<T, bfloat16> ? 1.0 / 128 : 1.0 / (1 << 23);

}  // namespace lockstep::smoke
