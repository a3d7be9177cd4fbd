#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/kernels/convolution/conv1d_transpose.h>
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

/// x, then the op's parameters, if any.
using Operands = std::vector<Tensor>;
using Op = std::function<Tensor(const Operands& operands)>;

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;  ///< of the sum of y with respect to the operands
};

Results results_of(const Op& op, const Operands& operands) {
  GradientTape tape;
  for (const Tensor& operand : operands) tape.watch(operand);
  const Tensor y = op(operands);
  return {y, tape.gradient(sum(y), operands)};
}

/// Registers benchmarks of the op for an x of `shape`. `verify_op` checks the op's results.
void add_op(const std::string& name, const Shape& shape, const Operands& parameters, const Op& op,
            const std::function<void(const Operands& operands, const Results& results)>& verify_op) {
  const auto add = [&](const char* what, bool with_gradient) {
    benchmark::RegisterBenchmark(("op/" + name + "/" + what).c_str(), [=](benchmark::State& state) {
      Operands operands{uniform(shape, 1)};
      operands.insert(operands.end(), parameters.begin(), parameters.end());
      verify_op(operands, results_of(op, operands));
      for (auto _ : state)
        with_gradient ? static_cast<void>(results_of(op, operands)) : static_cast<void>(op(operands));
    });
  };
  add("forward", false);
  add("forward_and_gradient", true);
}

/// Same as add_op, for an op that is linear in each operand. Verifies that the sum of y equals the inner product of
/// each operand and its gradient.
void add_linear_op(const std::string& name, const Shape& shape, const Operands& parameters, const Op& op) {
  add_op(name, shape, parameters, op, [](const Operands& operands, const Results& results) {
    const double total = inner_product(results.y, Tensor::full(results.y.shape(), 1));
    for (std::size_t i = 0; i < operands.size(); ++i)
      verify(inner_product(results.gradients[i], operands[i]), total, results.gradients[i], operands[i]);
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
  add_linear_op("resize_bilinear", {8, 56, 56, 64}, {}, [](const Operands& x) { return resize(x[0], {112, 112}); });
  add_linear_op("resize_bicubic_antialiased", {16, 224, 224, 3}, {}, [](const Operands& x) {
    return resize(x[0], {96, 96}, {.interpolation = Interpolation::bicubic, .antialias = true});
  });
  add_linear_op("conv1d", {16, 512, 64}, {uniform({5, 64, 128}, 2)},
                [](const Operands& x) { return conv1d(x[0], x[1], Tensor(), {.padding = Padding1d::same}); });
  add_linear_op("conv1d_transpose", {16, 256, 128}, {uniform({4, 64, 128}, 2)}, [](const Operands& x) {
    return conv1d_transpose(x[0], x[1], Tensor(), {.stride = 2, .padding = Padding::same});
  });
  for (const std::int64_t stride : {1, 2}) {
    const std::string name = stride == 1 ? "conv2d_transpose_without_stride" : "conv2d_transpose";
    const std::int64_t taps = 2 + stride;
    add_linear_op(name, {8, 16, 16, 128}, {uniform({taps, taps, 64, 128}, 2)}, [=](const Operands& x) {
      return conv2d_transpose(x[0], x[1], Tensor(), {.strides = stride, .padding = Padding::same});
    });
  }
  const auto normalize = [](const Operands& x) { return group_norm(x[0], 32, x[1], x[2]); };
  add_op("group_normalization", {8, 32, 32, 128}, {Tensor::full({128}, 1), Tensor::zeros({128})}, normalize,
         [](const Operands&, const Results& results) {
           const Tensor& y = results.y;
           const auto elements = static_cast<double>(y.elements());
           verify_element("group_normalization", 1 + inner_product(y, Tensor::full(y.shape(), 1)) / elements, 1);
           verify_element("group_normalization", inner_product(y, y) / elements, 1 / (1 + 3e-3));  // epsilon / variance
         });
  add_linear_op("matmul", {64, 128, 64}, {uniform({64, 64, 128}, 2)},
                [](const Operands& x) { return matmul(x[0], x[1]); });
  add_linear_op("gather", {50'000, 128}, {},
                [indices = indices_below(50'000, 4096)](const Operands& x) { return take(x[0], indices, 0); });
  add_linear_op("scatter", {4096, 128}, {}, [indices = indices_below(3000, 4096).view({4096, 1})](const Operands& x) {
    return scatter(indices, x[0], {3000, 128});
  });
}

}  // namespace lockstep
