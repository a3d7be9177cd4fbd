#include <array>
#include <functional>
#include <utility>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/indexing/scatter.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/normalization/group_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

#include "kernels_bench.h"

// Ops with their gradients, on tapes. pytorch_ops.py has the same rows.

namespace lockstep {
namespace {

using Op = std::function<Tensor(const Tensor& x)>;

/// The op's result, and the gradient of the result's sum with respect to x.
std::pair<Tensor, Tensor> result_and_gradient(const Op& op, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = op(x);
  return {y, tape.gradient(sum(y), std::array{x}).front()};
}

/// Registers benchmarks of the op. `verify_op` checks the op's result y and gradient dx for x.
void add_op(const std::string& name, const Shape& shape, const Op& op,
            const std::function<void(const Tensor& x, const Tensor& y, const Tensor& dx)>& verify_op) {
  const auto add = [&](const char* what, bool with_gradient) {
    benchmark::RegisterBenchmark(("op/" + name + "/" + what).c_str(), [=](benchmark::State& state) {
      const Tensor x = uniform(shape, 1);
      const auto [y, dx] = result_and_gradient(op, x);
      verify_op(x, y, dx);
      for (auto _ : state) with_gradient ? static_cast<void>(result_and_gradient(op, x)) : static_cast<void>(op(x));
    });
  };
  add("forward", false);
  add("forward_and_gradient", true);
}

/// Same as add_op, for an op that is linear in x. Verifies that the sum of y equals the inner product of x and dx.
void add_linear_op(const std::string& name, const Shape& shape, const Op& op) {
  add_op(name, shape, op, [](const Tensor& x, const Tensor& y, const Tensor& dx) {
    verify(inner_product(dx, x), inner_product(y, Tensor::full(y.shape(), 1)), dx, x);
  });
}

/// Numbers below `most`, with repetitions.
Tensor indices_below(std::int64_t most, std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * 7919 % most);
  return Tensor::from(indices, {count});
}

}  // namespace

void add_ops() {
  add_linear_op("resize_bilinear", {8, 56, 56, 64}, [](const Tensor& x) { return resize(x, {112, 112}); });
  add_linear_op("resize_bicubic_antialiased", {16, 224, 224, 3}, [](const Tensor& x) {
    return resize(x, {96, 96}, {.interpolation = Interpolation::bicubic, .antialias = true});
  });
  add_linear_op("conv1d", {16, 512, 64}, [kernel = uniform({5, 64, 128}, 2)](const Tensor& x) {
    return conv1d(x, kernel, Tensor(), {.padding = Padding1d::same});
  });
  add_linear_op("conv2d_transpose", {8, 16, 16, 128}, [kernel = uniform({4, 4, 64, 128}, 2)](const Tensor& x) {
    return conv2d_transpose(x, kernel, Tensor(), {.strides = 2, .padding = Padding::same});
  });
  const auto normalize = [gamma = Tensor::full({128}, 1), beta = Tensor::zeros({128})](const Tensor& x) {
    return group_norm(x, 32, gamma, beta);
  };
  add_op("group_normalization", {8, 32, 32, 128}, normalize, [](const Tensor&, const Tensor& y, const Tensor&) {
    const auto elements = static_cast<double>(y.elements());
    verify_element("group_normalization", 1 + inner_product(y, Tensor::full(y.shape(), 1)) / elements, 1);
    verify_element("group_normalization", inner_product(y, y) / elements, 1 / (1 + 3e-3));  // epsilon / variance
  });
  add_linear_op("matmul", {64, 128, 64}, [b = uniform({64, 64, 128}, 2)](const Tensor& x) { return matmul(x, b); });
  add_linear_op("gather", {50'000, 128},
                [indices = indices_below(50'000, 4096)](const Tensor& x) { return take(x, indices, 0); });
  add_linear_op("scatter", {4096, 128}, [indices = indices_below(3000, 4096).view({4096, 1})](const Tensor& x) {
    return scatter(indices, x, {3000, 128});
  });
}

}  // namespace lockstep
