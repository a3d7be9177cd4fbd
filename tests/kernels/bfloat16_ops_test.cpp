// Ops on bf16 beside the same ops on the same numbers in f32, which have references of their own. Parameters stay f32.

#include <array>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;
using Inputs = std::vector<Tensor>;

struct Case {
  std::string name;
  std::function<Tensor(std::span<const Tensor>)> op;
  Inputs data;          ///< cast to bf16
  Inputs parameters{};  ///< behind them, f32
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

/// Numbers that bf16 has.
Tensor rounded(const Tensor& x) { return cast(cast(x, DType::bf16), DType::f32); }

Tensor numbers(const Shape& shape, unsigned seed, double low = -1, double high = 1) {
  return rounded(random_tensor(shape, seed, low, high));
}

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;
};

Results run(const Case& c, DType dtype) {
  Inputs inputs;  // where the ops compute: the cases were made before any device was chosen
  for (const Tensor& x : c.data) inputs.push_back(cast(to_current_device(x), dtype));
  for (const Tensor& x : c.parameters) inputs.push_back(to_current_device(x));
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = c.op(inputs);
  const Tensor weights = cast(numbers(y.shape(), 4711, 0.5, 1.5), dtype);
  return {y, tape.gradient(sum(multiply(y, weights)), inputs)};
}

/// The distance, relative to the largest number: bf16 rounds each of a few results on the way.
void expect_near(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> found = actual.to_vector<double>();
  const std::vector<double> wanted = expected.to_vector<double>();
  ASSERT_EQ(actual.shape(), expected.shape());
  double largest = 1e-3;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 3 * epsilon_of(DType::bf16) * (largest / 4 + std::abs(wanted[i])))
        << "element " << i;
}

std::vector<Case> elementwise_cases() {
  const auto unary = [](std::string name, Tensor (*op)(const Tensor&), double low = -1) {
    return Case{std::move(name), [op](std::span<const Tensor> in) { return op(in[0]); }, {numbers({3, 37}, 1, low, 2)}};
  };
  std::vector<Case> cases{
      unary("negative", negative), unary("exp", exp),       unary("log", log, 0.5),
      unary("sqrt", sqrt, 0.5),    unary("square", square), unary("abs", abs),
      unary("relu", relu),         unary("relu6", relu6),   unary("selu", selu),
      unary("sigmoid", sigmoid),   unary("silu", silu),     unary("softplus", softplus),
      unary("softsign", softsign), unary("tanh", tanh),     unary("hard_sigmoid", hard_sigmoid),
  };
  const auto binary = [](std::string name, Tensor (*op)(const Tensor&, const Tensor&), const Shape& b) {
    return Case{std::move(name),
                [op](std::span<const Tensor> in) { return op(in[0], in[1]); },
                {numbers({4, 33}, 1), numbers(b, 2, 0.5, 2)}};
  };
  for (const Shape& b : {Shape{4, 33}, Shape{33}, Shape{4, 1}}) {
    cases.push_back(binary("add", add, b));
    cases.push_back(binary("subtract", subtract, b));
    cases.push_back(binary("multiply", multiply, b));
    cases.push_back(binary("divide", divide, b));
  }
  cases.push_back(
      {"affine", [](std::span<const Tensor> in) { return multiply(add(in[0], 0.5), 3.0); }, {numbers({5, 21}, 1)}});
  cases.push_back({"add_n",
                   [](std::span<const Tensor> in) { return add_n(in); },
                   {numbers({40}, 1), numbers({40}, 2), numbers({40}, 3)}});
  cases.push_back({"dropout",
                   [](std::span<const Tensor> in) { return dropout(in[0], 0.25F, {.seed = 3, .stream = 1}); },
                   {numbers({7, 81}, 1)}});
  return cases;
}

std::vector<Case> array_cases() {
  return {
      {"reshape",
       [](std::span<const Tensor> in) {
         return reshape(in[0], {6, 2});
       },
       {numbers({3, 4}, 1)}},
      {"concat", [](std::span<const Tensor> in) { return concat(in, -1); }, {numbers({3, 4}, 1), numbers({3, 2}, 2)}},
      {"slice", [](std::span<const Tensor> in) { return slice(in[0], 1, 1, 3); }, {numbers({3, 4}, 1)}},
      {"pad",
       [](std::span<const Tensor> in) {
         return zero_pad2d(in[0], {1, 0, 2, 1});
       },
       {numbers({2, 3, 4, 5}, 1)}},
      {"sum", [](std::span<const Tensor> in) { return sum(in[0], {1}); }, {numbers({3, 50, 4}, 1)}},
      {"mean",
       [](std::span<const Tensor> in) {
         return mean(in[0], {1, 2});
       },
       {numbers({3, 5, 4, 33}, 1)}},
      {"sort", [](std::span<const Tensor> in) { return sort(in[0], 1); }, {numbers({3, 50, 4}, 1)}},
      {"top_k", [](std::span<const Tensor> in) { return top_k(in[0], 5).values; }, {numbers({3, 50}, 1)}},
      {"cumsum", [](std::span<const Tensor> in) { return cumsum(in[0], 1); }, {numbers({3, 50, 4}, 1)}},
      {"both", [](std::span<const Tensor> in) { return add(square(in[0]), in[0]); }, {numbers({60}, 1)}},
  };
}

/// Which no sum of `terms` products of numbers in [-1, 1) brings near 0: where a ReLU's argument is, another order of
/// adding decides whether it is active.
Tensor bias_for(Activation activation, std::int64_t units, std::int64_t terms) {
  if (activation != Activation::relu) return random_tensor({units}, 3);
  const double far = 2 * std::sqrt(static_cast<double>(terms));  // six standard deviations
  std::vector<float> values;
  for (std::int64_t unit = 0; unit < units; ++unit) values.push_back(static_cast<float>(unit % 3 == 0 ? -far : far));
  return Tensor::from(values, {units});
}

std::vector<Case> window_cases() {
  const auto pool = [](std::string name, Tensor (*op)(const Tensor&, const Pool2dOptions&), Size2d strides) {
    return Case{std::move(name),
                [op, strides](std::span<const Tensor> in) {
                  return op(in[0], {.window = {3, 3}, .strides = strides, .padding = Padding::same});
                },
                {numbers({2, 9, 8, 20}, 1)}};
  };
  const auto conv = [](std::string name, const Conv2dOptions& options, const Shape& x, const Shape& kernel) {
    return Case{std::move(name),
                [options](std::span<const Tensor> in) { return conv2d(in[0], in[1], in[2], options); },
                {numbers(x, 1)},
                {numbers(kernel, 2), bias_for(options.activation, kernel.dim(3), kernel.elements() / kernel.dim(3))}};
  };
  return {
      pool("max", max_pool2d, {2, 2}),
      pool("max, overlapping", max_pool2d, {1, 1}),
      pool("average", average_pool2d, {2, 2}),
      pool("average, overlapping", average_pool2d, {1, 1}),
      conv("3x3", {.padding = Padding::same}, {2, 9, 8, 32}, {3, 3, 32, 48}),
      conv("3x3 of many tiles", {.padding = Padding::same, .activation = Activation::relu}, {4, 17, 16, 32},
           {3, 3, 32, 48}),
      conv("3x3, relu", {.activation = Activation::relu}, {2, 9, 8, 3}, {3, 3, 3, 16}),
      conv("1x1", {}, {2, 7, 7, 24}, {1, 1, 24, 40}),
      conv("strided", {.strides = {2, 2}, .padding = Padding::same}, {2, 9, 8, 16}, {5, 5, 16, 16}),
      conv("dilated", {.dilation = {2, 2}}, {2, 9, 8, 16}, {3, 3, 16, 16}),
      conv("depthwise", {.padding = Padding::same, .groups = 32}, {2, 9, 8, 32}, {3, 3, 1, 32}),
      conv("groups", {.padding = Padding::same, .groups = 2}, {2, 9, 8, 16}, {3, 3, 8, 32}),
  };
}

Case dense_case(std::int64_t rows, Activation activation) {
  return {"dense of " + std::to_string(rows),
          [activation](std::span<const Tensor> in) { return dense(in[0], in[1], in[2], activation); },
          {numbers({rows, 70}, 1)},
          {numbers({70, 90}, 2), bias_for(activation, 90, 70)}};
}

std::vector<Case> layer_cases() {
  const auto normal = [](bool relu) {
    return Case{relu ? "batch_norm, relu" : "batch_norm",
                [relu](std::span<const Tensor> in) {
                  return batch_norm(in[0], in[1], in[2], {.epsilon = 1e-3F, .relu = relu}).y;
                },
                {numbers({5, 4, 3, 21}, 1)},
                {random_tensor({21}, 2, 0.5, 1.5), random_tensor({21}, 3)}};
  };
  const Tensor mean = random_tensor({21}, 5);
  const Tensor variance = random_tensor({21}, 6, 0.5, 1.5);
  return {dense_case(3, Activation::linear),
          dense_case(130, Activation::linear),
          dense_case(130, Activation::relu),
          dense_case(33, Activation::tanh),
          normal(false),
          normal(true),
          {"inference",
           [=](std::span<const Tensor> in) { return batch_norm_inference(in[0], in[1], in[2], mean, variance); },
           {numbers({50, 21}, 1)},
           {random_tensor({21}, 2, 0.5, 1.5), random_tensor({21}, 3)}}};
}

void check_case(const Case& c) {
  SCOPED_TRACE(c.name);
  const Results narrow = run(c, DType::bf16);
  const Results wide = run(c, DType::f32);
  EXPECT_EQ(narrow.y.dtype(), DType::bf16);
  expect_near(narrow.y, wide.y);
  for (std::size_t i = 0; i < narrow.gradients.size(); ++i) {
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    EXPECT_EQ(narrow.gradients[i].dtype(), i < c.data.size() ? DType::bf16 : DType::f32);
    expect_near(narrow.gradients[i], wide.gradients[i]);
  }
}

class Bfloat16Ops : public ::testing::TestWithParam<Case> {};

TEST_P(Bfloat16Ops, AreThoseOfF32Rounded) {
  for (const int threads : {1, 2}) {
    const ComputeThreadsScope scope(threads);
    check_case(GetParam());
  }
}

TEST_P(Bfloat16Ops, GiveTheSameBitsAgain) {
  const Results one = run(GetParam(), DType::bf16);
  const Results other = run(GetParam(), DType::bf16);
  expect_same_bits(one.y, other.y);
  for (std::size_t i = 0; i < one.gradients.size(); ++i) expect_same_bits(one.gradients[i], other.gradients[i]);
}

std::string place(const ::testing::TestParamInfo<Case>& info) { return std::to_string(info.index); }
INSTANTIATE_TEST_SUITE_P(Elementwise, Bfloat16Ops, ::testing::ValuesIn(elementwise_cases()), place);
INSTANTIATE_TEST_SUITE_P(Array, Bfloat16Ops, ::testing::ValuesIn(array_cases()), place);
INSTANTIATE_TEST_SUITE_P(Window, Bfloat16Ops, ::testing::ValuesIn(window_cases()), place);
INSTANTIATE_TEST_SUITE_P(Layer, Bfloat16Ops, ::testing::ValuesIn(layer_cases()), place);

TEST(Bfloat16Batches, MayHaveNoRows) {
  const Tensor kernel = random_tensor({3, 3, 4, 5}, 1);
  const Tensor y = conv2d(Tensor::zeros({0, 6, 6, 4}, DType::bf16), kernel, {});
  EXPECT_EQ(y.shape(), (Shape{0, 4, 4, 5}));
  EXPECT_EQ(dense(Tensor::zeros({0, 7}, DType::bf16), random_tensor({7, 2}, 1), {}).shape(), (Shape{0, 2}));
}

TEST(Bfloat16Batches, NormalizationWritesIntoSlices) {
  const Tensor x = cast(numbers({6, 8}, 1), DType::bf16);
  const Tensor gamma = Tensor::full({8}, 1);
  const Tensor beta = Tensor::zeros({8});
  const Tensor whole = Tensor::zeros({6, 20}, DType::bf16);
  batch_norm(x, gamma, beta, {.out = whole.slice_view(1, 3, 11)});
  expect_same_bits(dense_copy(whole.slice_view(1, 3, 11)), batch_norm(x, gamma, beta).y);
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                batch_norm(x, gamma, beta, {.out = Tensor::empty({6, 8})});
              }),
              HasSubstr("the output must be bf16 (6, 8)"));
}

TEST(Bfloat16Operands, OfTwoDtypesAreRefused) {
  const Tensor x = Tensor::zeros({3}, DType::bf16);
  EXPECT_THAT(error_of<InvalidArgument>([&] { add(x, Tensor::zeros({3})); }),
              HasSubstr("add takes tensors of one dtype"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                add_n(std::array{x, Tensor::zeros({3})});
              }),
              HasSubstr("add_n takes tensors of one shape and dtype"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                softmax(Tensor::zeros({2, 3}, DType::bf16));
              }),
              HasSubstr("softmax takes f32"));
}

}  // namespace
}  // namespace lockstep::test
