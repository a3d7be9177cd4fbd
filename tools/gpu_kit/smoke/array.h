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

/// GPU memory, allocated and copied with CUDA's simplest calls.
template <class T>
class Array {
 public:
  /// Copies `values` to the GPU.
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
  /// Copies to the host after all work of the GPU is done.
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

/// A non-blocking stream, like all streams of the library: it does not synchronize with CUDA's default stream.
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

/// Multiples of 1/8 between -1 and 1. They are exact in bfloat16 and TensorFloat-32, and sums of their products are
/// exact in f32, so that f32 results do not depend on the order of addition.
template <class T>
std::vector<T> eighths(std::int64_t size, std::uint32_t seed) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < size; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(T(static_cast<float>(static_cast<int>(seed >> 24U) % 17 - 8) / 8));
  }
  return values;
}

/// Values between -1 and 1 that use all 24 bits of f32's significand.
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

/// Returns a text like "96 values, exact". Throws DeviceError if a value differs from the expected one by more than
/// `tolerance` * max(1, |expected|), or exactly one of the two is NaN.
std::string compared(const std::vector<double>& found, const std::vector<double>& expected, double tolerance);

/// Relative tolerance for a result of type T, one unit in the last place: half a unit for one rounding and another half
/// for libraries that round twice.
template <class T>
constexpr double rounding = std::is_same_v<T, bfloat16> ? 1.0 / 128 : 1.0 / (1 << 23);

}  // namespace lockstep::smoke
