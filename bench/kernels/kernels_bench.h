#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/kernels/window/window2d.h>

// What the benchmarks of single kernels share. Times are the processor's, of one thread.

namespace lockstep {

/// Examples in a batch of MiniGoogLeNet.
inline constexpr std::int64_t batch = 64;

/// A convolution of MiniGoogLeNet.
struct ConvLayer {
  const char* name;
  std::int64_t size, inputs, kernel, stride, outputs;
  Padding padding = Padding::same;
};

/// All of them, in the order of the model.
std::span<const ConvLayer> conv_layers();
/// The rows and columns of a layer's result.
std::int64_t result_size(const ConvLayer& layer);

/// Elements from [-1, 1).
Tensor uniform(const Shape& shape, unsigned seed);
/// The inner product, in f64.
double dot(const Tensor& a, const Tensor& b);
/// Throws BrokenInvariant unless two ways to compute one inner product of `a` and `b` agree but for rounding.
void verify(double one, double other, const Tensor& a, const Tensor& b);
/// Throws BrokenInvariant unless an element that `kernel` computed is near to what it should be.
void verify_element(const char* kernel, double found, double expected);

/// What this machine can do at most, measured on one thread at the program's start.
struct Limits {
  double flops_per_s =
      0;  ///< the faster of oneDNN's products of large and of cached matrices, in layouts of its choice
  double bytes_per_s = 0;  ///< memcpy of 256 MiB, read and written
};
/// Measured by the first call.
const Limits& limits();

/// Reports `amount` of a run as a rate in billions, and its share of a limit.
void report(benchmark::State& state, const char* rate, double amount, const char* share, double limit);

/// Times what is bound by arithmetic: `of_matmul` is its share of limits().flops_per_s.
template <class Run>
void time_flops(benchmark::State& state, double flops, const Run& run) {
  for (auto _ : state) run();
  report(state, "GFLOP/s", flops, "of_matmul", limits().flops_per_s);
}

/// Times what is bound by memory: `bytes` is what it has to read and write when it touches each array once, `of_copy`
/// its share of limits().bytes_per_s; above 1 where the arrays stay in caches.
template <class Run>
void time_bytes(benchmark::State& state, double bytes, const Run& run) {
  for (auto _ : state) run();
  report(state, "GB/s", bytes, "of_copy", limits().bytes_per_s);
}

/// Bytes of all elements of the tensors.
double bytes_of(std::initializer_list<Tensor> tensors);

///@{
/// Each subject's benchmarks, in a file of its own.
void add_convolutions();
void add_dense();
void add_elementwise();
void add_losses();
void add_normalizations();
void add_poolings();
void add_recurrences();
void add_updates();
///@}

}  // namespace lockstep
