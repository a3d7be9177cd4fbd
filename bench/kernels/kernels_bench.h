#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/kernels/window/window2d.h>

// Code shared by the benchmarks of single kernels. They measure processor time on one thread.

namespace lockstep {

/// Examples in a batch of MiniGoogLeNet.
inline constexpr std::int64_t batch = 64;

/// A convolution of MiniGoogLeNet.
struct ConvLayer {
  const char* name;
  std::int64_t size, inputs, kernel, stride, outputs;  ///< height and width, channels, kernel size, strides, filters
  Padding padding = Padding::same;
};

/// All convolutions of MiniGoogLeNet, in the model's order.
std::span<const ConvLayer> conv_layers();
/// Height and width of a layer's result.
std::int64_t result_size(const ConvLayer& layer);

/// Uniformly distributed elements in [-1, 1).
Tensor uniform(const Shape& shape, unsigned seed);
/// The inner product, accumulated in f64, of two f32 tensors with equally many elements.
double inner_product(const Tensor& a, const Tensor& b);
/// Compares two computed values of the inner product of `a` and `b`. Throws BrokenInvariant if they differ by more than
/// 1e-5 * |a| * |b|.
void verify(double one, double other, const Tensor& a, const Tensor& b);
/// Throws BrokenInvariant if an element computed by `kernel` differs from the expected value by more than
/// 1e-4 * max(1, |expected|).
void verify_element(const char* kernel, double found, double expected);

/// This machine's limits, measured on one thread at the program's start.
struct Limits {
  double flops_per_s = 0;  ///< the faster of two f32 matrix products of oneDNN, which chooses the layouts
  double bytes_per_s = 0;  ///< memcpy of 256 MiB; counts bytes read and written
};
/// The first call measures them.
const Limits& limits();

/// Adds two counters to `state`. The counter named `rate` is `amount` divided by the time of a run, in 1e9 per second.
/// The counter named `share` is this rate divided by `limit` (per second).
void report(benchmark::State& state, const char* rate, double amount, const char* share, double limit);

/// Times a compute-bound kernel; the counter `of_matmul` is its share of limits().flops_per_s.
template <class Run>
void time_flops(benchmark::State& state, double flops, const Run& run) {
  for (auto _ : state) run();
  report(state, "GFLOP/s", flops, "of_matmul", limits().flops_per_s);
}

/// Times a memory-bound kernel. `bytes` counts each array once for each read and each write that the kernel needs. The
/// counter `of_copy` is the kernel's share of limits().bytes_per_s; it can exceed 1 if the arrays stay in caches.
template <class Run>
void time_bytes(benchmark::State& state, double bytes, const Run& run) {
  for (auto _ : state) run();
  report(state, "GB/s", bytes, "of_copy", limits().bytes_per_s);
}

/// Total bytes of the tensors' elements.
double bytes_of(std::initializer_list<Tensor> tensors);

///@{
/// Register the benchmarks of a subject; each has a file of its own.
void add_attentions();
void add_convolutions();
void add_dense();
void add_elementwise();
void add_losses();
void add_normalizations();
void add_ops();
void add_poolings();
void add_recurrences();
void add_updates();
///@}

}  // namespace lockstep
