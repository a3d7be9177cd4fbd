// Checks convolutions, called in cuDNN as the library calls them.

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/kernels/cuda/plan_timer.h>

#include "array.h"
#include "check.h"

namespace lockstep::smoke {
namespace {

using cudnn::Convolution;
using cudnn::ConvolutionPass;
using cudnn::ConvolutionPlan;

/// A convolution; the kernel's dimensions are (rows, columns, channels, filters).
struct Case {
  Shape x, kernel, y;
  Window2d window;
};

std::vector<Case> cases() {
  const Window2d same{.pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  Window2d halving = same;
  halving.stride_h = halving.stride_w = 2;
  Window2d stem{.stride_h = 2, .stride_w = 2, .pad_top = 3, .pad_left = 3, .pad_bottom = 3, .pad_right = 3};
  std::vector<Case> all{{{2, 9, 11, 8}, {3, 3, 8, 16}, {2, 9, 11, 16}, same},
                        {{2, 7, 5, 16}, {1, 1, 16, 24}, {2, 7, 5, 24}, {}},
                        {{2, 9, 11, 8}, {3, 3, 8, 16}, {2, 5, 6, 16}, halving},
                        {{1, 16, 16, 3}, {7, 7, 3, 16}, {1, 8, 8, 16}, stem}};
  halving.pad_top = halving.pad_left = 0;
  all.push_back({{2, 10, 12, 8}, {3, 3, 8, 16}, {2, 5, 6, 16}, halving});
  return all;
}

template <class T>
constexpr DType dtype_of = std::is_same_v<T, float> ? DType::f32 : DType::bf16;

/// A convolution's operands, in the layouts of Convolution.
struct Values {
  std::vector<double> x, kernel, y, bias;
};

std::size_t at(const cudnn::Layout& layout, std::int64_t a, std::int64_t b, std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(a * layout.strides[0] + b * layout.strides[1] + row * layout.strides[2] +
                                  column * layout.strides[3]);
}

/// Calls visit(index in x, index in the kernel, index in y) for every product of a convolution without groups.
template <class Visit>
void for_each_product(const Convolution& c, const Visit& visit) {
  const cudnn::Layout x = c.x();
  const cudnn::Layout kernel = c.kernel();
  const cudnn::Layout y = c.y();
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t filter = 0; filter < c.filters; ++filter)
      for (std::int64_t p = 0; p < c.y_size[0]; ++p)
        for (std::int64_t q = 0; q < c.y_size[1]; ++q)
          for (std::int64_t r = 0; r < c.kernel_size[0]; ++r)
            for (std::int64_t s = 0; s < c.kernel_size[1]; ++s) {
              const std::int64_t row = p * c.strides[0] - c.pads_before[0] + r;
              const std::int64_t column = q * c.strides[1] - c.pads_before[1] + s;
              if (row < 0 || row >= c.x_size[0] || column < 0 || column >= c.x_size[1]) continue;
              for (std::int64_t channel = 0; channel < c.channels; ++channel)
                visit(at(x, n, channel, row, column), at(kernel, filter, channel, r, s), at(y, n, filter, p, q));
            }
}

/// Computes the result of a pass by the definition of convolution.
std::vector<double>& result_of(const Convolution& c, Values& values) {
  if (c.pass == ConvolutionPass::forward) return values.y;
  return c.pass == ConvolutionPass::gradient_x ? values.x : values.kernel;
}

void compute(const Convolution& c, Values& values) {
  std::vector<double>& result = result_of(c, values);
  std::ranges::fill(result, 0.0);
  for_each_product(c, [&](std::size_t x, std::size_t kernel, std::size_t y) {
    if (c.pass == ConvolutionPass::forward) values.y[y] += values.x[x] * values.kernel[kernel];
    if (c.pass == ConvolutionPass::gradient_x) values.x[x] += values.y[y] * values.kernel[kernel];
    if (c.pass == ConvolutionPass::gradient_kernel) values.kernel[kernel] += values.x[x] * values.y[y];
  });
  for (std::size_t i = 0; i < result.size() && c.pass == ConvolutionPass::forward; ++i) {
    if (c.bias) result[i] += values.bias[i % values.bias.size()];
    if (c.relu && result[i] < 0) result[i] = 0;
  }
}

/// A cuDNN handle with its own stream, as in each thread of the library.
cudnnHandle_t handle() {
  static const Stream stream;
  static cudnnHandle_t made = nullptr;
  if (made != nullptr) return made;
  cudnn::check(cudnnCreate(&made), "cudnnCreate");
  cudnn::check(cudnnSetStream(made, stream.get()), "cudnnSetStream");
  return made;
}

/// Runs a plan on these operands and compares the result with that of the definition.
template <class T>
std::string run(const Convolution& c, const ConvolutionPlan& plan, std::array<std::vector<T>, 4> operands,
                double tolerance) {
  const auto& [x, kernel, y, bias] = operands;
  const Array<T> gpu_x(x);
  const Array<T> gpu_kernel(kernel);
  const Array<T> gpu_y(y);
  const Array<T> gpu_bias(bias);
  const Array<unsigned char> workspace(
      std::vector<unsigned char>(static_cast<std::size_t>(plan.workspace_bytes()) + 1, 0xff));
  plan.run(handle(), {.x = gpu_x.get(), .kernel = gpu_kernel.get(), .y = gpu_y.get(), .bias = gpu_bias.get()},
           workspace.get());
  Values expected{as_double(x), as_double(kernel), as_double(y), as_double(bias)};
  compute(c, expected);
  Values found{as_double(gpu_x.values()), as_double(gpu_kernel.values()), as_double(gpu_y.values()), {}};
  return fmt::format("{} by {}", compared(result_of(c, found), result_of(c, expected), tolerance), plan.engine());
}

template <class T>
std::array<std::vector<T>, 4> operands_of(const Convolution& c) {
  return {eighths<T>(c.x().elements(), 1), eighths<T>(c.kernel().elements(), 2), eighths<T>(c.y().elements(), 3),
          eighths<T>(c.filters, 4)};
}

enum class Then { nothing, bias, bias_and_relu };

/// Runs all cases; with `nan`, one value of x is NaN.
template <class T>
std::string pass(ConvolutionPass which, Then then, bool nan = false) {
  if (then == Then::bias_and_relu && !cudnn::takes_relu(dtype_of<T>))
    throw Skipped{"the library does not ask cuDNN for that relu"};
  std::string seen;
  for (const Case& each : cases()) {
    Convolution c(which, dtype_of<T>, each.x, each.kernel, each.y, each.window);
    c.bias = then != Then::nothing;
    c.relu = then == Then::bias_and_relu;
    auto operands = operands_of<T>(c);
    if (nan) operands[0][17] = T(std::numeric_limits<float>::quiet_NaN());
    const ConvolutionPlan plan(c, handle());
    seen += (seen.empty() ? "" : "; ") + run(c, plan, std::move(operands), rounding<T>);
  }
  return seen;
}

/// Checks that f32 keeps its 24 bits: TensorFloat-32 would keep 11.
std::string f32_is_not_rounded(ConvolutionPass which) {
  const Case each = cases().front();
  const Convolution c(which, DType::f32, each.x, each.kernel, each.y, each.window);
  const ConvolutionPlan plan(c, handle());
  return run<float>(c, plan,
                    {fine_values(c.x().elements(), 1), fine_values(c.kernel().elements(), 2),
                     fine_values(c.y().elements(), 3), fine_values(c.filters, 4)},
                    1e-5);
}

std::string restored_plan() {
  const Case each = cases().front();
  const Convolution c(ConvolutionPass::forward, DType::bf16, each.x, each.kernel, each.y, each.window);
  const std::vector<std::uint8_t> bytes = ConvolutionPlan(c, handle()).serialized();
  const auto plan = ConvolutionPlan::restored(c, handle(), bytes);
  require<DeviceError>(plan.has_value(), "cuDNN does not take its own plan of {} bytes back", bytes.size());
  return fmt::format("{} bytes, {}", bytes.size(), run(c, *plan, operands_of<bfloat16>(c), rounding<bfloat16>));
}

/// Chooses plans by measured time, as with LOCKSTEP_CUDNN_AUTOTUNE=1, for a layer of ResNet-50.
std::string timed_plans() {
  const Window2d same{.pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  const Convolution c(ConvolutionPass::forward, DType::bf16, {64, 28, 28, 128}, {3, 3, 128, 128}, {64, 28, 28, 128},
                      same);
  cudnn::PlanTimer timer(c, gpu({DeviceKind::gpu, 0}), cudnn::handle_of(gpu({DeviceKind::gpu, 0})));
  int tried = 0;
  int failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  const ConvolutionPlan fastest(c, cudnn::handle_of(gpu({DeviceKind::gpu, 0})), [&](const ConvolutionPlan& plan) {
    const double time = timer(plan);
    ++tried;
    failed += std::isinf(time) ? 1 : 0;
    return time;
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  require<DeviceError>(failed < tried, "all {} plans fail", tried);
  return fmt::format("{} plans, {} of them failed, in {:.2f} s; {} in {:.3f} ms", tried, failed, took.count(),
                     fastest.engine(), timer(fastest));
}

template <class T>
void add_checks(const std::string& type, std::vector<Check>& checks) {
  const auto add = [&](const std::string& name, ConvolutionPass which, Then then, bool nan = false) {
    checks.push_back({fmt::format("cudnn_{}_{}", name, type), [=] { return pass<T>(which, then, nan); }});
  };
  add("convolution", ConvolutionPass::forward, Then::nothing);
  add("convolution_of_nan", ConvolutionPass::forward, Then::nothing, true);
  add("convolution_bias", ConvolutionPass::forward, Then::bias);
  add("convolution_bias_relu", ConvolutionPass::forward, Then::bias_and_relu);
  add("convolution_bias_relu_of_nan", ConvolutionPass::forward, Then::bias_and_relu, true);
  add("convolution_gradient_x", ConvolutionPass::gradient_x, Then::nothing);
  add("convolution_gradient_kernel", ConvolutionPass::gradient_kernel, Then::nothing);
}

}  // namespace

std::vector<Check> convolution_checks() {
  std::vector<Check> checks;
  add_checks<float>("f32", checks);
  add_checks<bfloat16>("bf16", checks);
  checks.push_back({"cudnn_convolution_f32_is_not_rounded", [] {
                      std::string seen;
                      for (const auto which :
                           {ConvolutionPass::forward, ConvolutionPass::gradient_x, ConvolutionPass::gradient_kernel})
                        seen += (seen.empty() ? "" : "; ") + f32_is_not_rounded(which);
                      return seen;
                    }});
  checks.push_back({"cudnn_restored_plan", restored_plan});
  checks.push_back({"cudnn_timed_plans", timed_plans, true});
  return checks;
}

}  // namespace lockstep::smoke
