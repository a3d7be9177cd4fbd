// Google Benchmark of the CPU backend's expensive kernels on one thread, relative to the machine's limits.

#include "kernels_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <limits>
#include <random>

#include <fmt/core.h>

#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr ConvLayer layers[] = {
    {"stem_3x3", 32, 3, 3, 1, 96},  {"1a_1x1", 32, 96, 1, 1, 32},  {"1a_3x3", 32, 96, 3, 1, 32},
    {"1b_1x1", 32, 64, 1, 1, 32},   {"1b_3x3", 32, 64, 3, 1, 48},  {"1_down", 32, 80, 3, 2, 80, Padding::valid},
    {"2a_1x1", 15, 160, 1, 1, 112}, {"2a_3x3", 15, 160, 3, 1, 48}, {"2b_1x1", 15, 160, 1, 1, 96},
    {"2b_3x3", 15, 160, 3, 1, 64},  {"2c_1x1", 15, 160, 1, 1, 80}, {"2c_3x3", 15, 160, 3, 1, 80},
    {"2d_1x1", 15, 160, 1, 1, 48},  {"2d_3x3", 15, 160, 3, 1, 96}, {"2_down", 15, 144, 3, 2, 96, Padding::valid},
    {"3a_1x1", 7, 240, 1, 1, 176},  {"3a_3x3", 7, 240, 3, 1, 160}, {"3b_1x1", 7, 336, 1, 1, 176},
    {"3b_3x3", 7, 336, 3, 1, 160},
};

/// Processor time of the fastest of 20 runs, after a run that is not measured.
template <class Run>
double fastest_s(const Run& run) {
  run();
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i) {
    const std::clock_t begin = std::clock();
    run();
    fastest = std::min(fastest, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return fastest;
}

/// Measures oneDNN's product of an (n, inner) and an (inner, m) matrix.
double product_flops_per_s(std::int64_t n, std::int64_t inner, std::int64_t m) {
  using dnnl::memory;
  const auto any = [](std::int64_t rows, std::int64_t columns) {
    return memory::desc({rows, columns}, memory::data_type::f32, memory::format_tag::any);
  };
  const auto description =
      onednn::describe<dnnl::matmul>(onednn::attributes(), any(n, inner), any(inner, m), any(n, m));
  // oneDNN chooses the layouts; all elements are equal, so their positions do not matter.
  const auto filled = [](const memory::desc& desc) {
    const Tensor values = onednn::allocate(desc);
    std::fill_n(static_cast<float*>(values.raw_data()), desc.get_size() / sizeof(float), 0.5F);
    return values;
  };
  const Tensor x = filled(description.src_desc());
  const Tensor kernel = filled(description.weights_desc());
  const Tensor y = filled(description.dst_desc());
  const Tensor scratch = onednn::allocate(description.scratchpad_desc());
  const onednn::Arguments arguments{{DNNL_ARG_SRC, onednn::bind(description.src_desc(), x)},
                                    {DNNL_ARG_WEIGHTS, onednn::bind(description.weights_desc(), kernel)},
                                    {DNNL_ARG_DST, onednn::bind(description.dst_desc(), y)},
                                    {DNNL_ARG_SCRATCHPAD, onednn::bind(description.scratchpad_desc(), scratch)}};
  const dnnl::matmul product(description);
  const double seconds = fastest_s([&] { onednn::execute("the product of the limit", product, arguments); });
  verify_element("the product of the limit", *static_cast<const float*>(y.raw_data()),
                 0.25 * static_cast<double>(inner));
  return 2.0 * static_cast<double>(n * inner * m) / seconds;
}

double copy_bytes_per_s() {
  const Tensor from = uniform({std::int64_t{64} << 20}, 1);
  const Tensor to = Tensor::empty(from.shape());
  const double bytes = bytes_of({from});
  const double seconds =
      fastest_s([&] { std::memcpy(to.data<float>(), from.data<float>(), static_cast<std::size_t>(bytes)); });
  verify(inner_product(from, from), inner_product(from, to), from, from);
  return 2 * bytes / seconds;
}

}  // namespace

std::span<const ConvLayer> conv_layers() { return layers; }

std::int64_t result_size(const ConvLayer& layer) {
  return slide_window("bench", {batch, layer.size, layer.size, 1}, {layer.kernel, layer.kernel},
                      {layer.stride, layer.stride}, layer.padding)
      .output.height;
}

Tensor uniform(const Shape& shape, unsigned seed) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Tensor result = Tensor::empty(shape);
  for (float& value : result.span<float>()) value = distribution(generator);
  return result;
}

double inner_product(const Tensor& a, const Tensor& b) {
  double sum = 0;
  const auto left = a.span<float>();
  const auto right = b.span<float>();
  for (std::size_t i = 0; i < left.size(); ++i) sum += static_cast<double>(left[i]) * right[i];
  return sum;
}

void verify(double one, double other, const Tensor& a, const Tensor& b) {
  const double scale = std::sqrt(inner_product(a, a) * inner_product(b, b));
  require<BrokenInvariant>(std::abs(one - other) <= 1e-5 * scale, "a kernel computes {}, not {}", one, other);
}

void verify_element(const char* kernel, double found, double expected) {
  require<BrokenInvariant>(std::abs(found - expected) <= 1e-4 * std::max(1.0, std::abs(expected)),
                           "{} computes {}, not {}", kernel, found, expected);
}

const Limits& limits() {
  static const Limits measured{std::max(product_flops_per_s(1024, 4000, 2000), product_flops_per_s(512, 512, 512)),
                               copy_bytes_per_s()};
  return measured;
}

void report(benchmark::State& state, const char* rate, double amount, const char* share, double limit) {
  const double total = amount * static_cast<double>(state.iterations());
  state.counters[rate] = benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate);
  state.counters[share] = benchmark::Counter(total / limit, benchmark::Counter::kIsRate);
}

double bytes_of(std::initializer_list<Tensor> tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors)
    bytes += static_cast<double>(tensor.elements()) * static_cast<double>(size_of(tensor.dtype()));
  return bytes;
}

}  // namespace lockstep

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const lockstep::ComputeThreadsScope one_thread(1);
  benchmark::AddCustomContext("matmul_gflop_per_s", fmt::format("{:.1f}", lockstep::limits().flops_per_s * 1e-9));
  benchmark::AddCustomContext("copy_gb_per_s", fmt::format("{:.1f}", lockstep::limits().bytes_per_s * 1e-9));
  lockstep::add_attentions();
  lockstep::add_convolutions();
  lockstep::add_dense();
  lockstep::add_normalizations();
  lockstep::add_poolings();
  lockstep::add_recurrences();
  lockstep::add_elementwise();
  lockstep::add_losses();
  lockstep::add_ops();
  lockstep::add_updates();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
