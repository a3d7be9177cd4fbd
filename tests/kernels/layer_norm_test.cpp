#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

constexpr float epsilon = 1e-3F;

std::vector<double> plain_layer_norm(const std::vector<std::vector<double>>& in) {
  const std::size_t n = in[1].size();
  std::vector<double> y;
  for (std::size_t row = 0; row < in[0].size(); row += n) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += in[0][row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) variance += std::pow(in[0][row + i] - mean, 2) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      y.push_back((in[0][row + i] - mean) / std::sqrt(variance + epsilon) * in[1][i] + in[2][i]);
  }
  return y;
}

std::vector<Tensor> operands(const Shape& shape) {
  const Shape features{shape.dim(-1)};
  return {random_tensor(shape, 1, -1, 3), random_tensor(features, 2, 0.5, 1.5), random_tensor(features, 3)};
}

Tensor run(std::span<const Tensor> in) { return layer_norm(in[0], in[1], in[2], epsilon); }

TEST(LayerNorm, EqualsPlainLoops) {
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ComputeThreadsScope scope(threads);
    for (const Shape& shape : {Shape{7}, Shape{3, 1}, Shape{5, 17}, Shape{2, 3, 4, 9}, Shape{700, 40}}) {
      SCOPED_TRACE(shape.text());
      // Gradients divide by the deviation, which few features may make small: at least sqrt(epsilon).
      check_gradients(run, plain_layer_norm, operands(shape),
                      {.length = std::max(shape.dim(-1), shape.elements() / shape.dim(-1)), .samples = 8});
    }
  }
}

std::vector<Tensor> results_of(const std::vector<Tensor>& inputs) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = run(inputs);
  std::vector<Tensor> results = tape.gradient(sum(multiply(y, random_tensor(y.shape(), 5))), inputs);
  results.push_back(y);
  return results;
}

TEST(LayerNorm, SlicesAndThreadsGiveTheSameBits) {
  std::vector<Tensor> in = operands({900, 33});
  const std::vector<Tensor> expected = results_of(in);
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    const std::vector<Tensor> again = results_of(in);
    for (std::size_t i = 0; i < again.size(); ++i) expect_same_bits(again[i], expected[i]);
  }
  in[0] = strided_copy(in[0]);
  const std::vector<Tensor> of_slice = results_of(in);
  for (std::size_t i = 0; i < of_slice.size(); ++i) expect_same_bits(of_slice[i], expected[i]);
}

// A mean a thousand times the deviation: a mean of squares less the squared mean would lose all of it in f32.
TEST(LayerNorm, SurvivesALargeMean) {
  const std::vector<Tensor> in{random_tensor({4, 300}, 1, 999, 1001), Tensor::full({300}, 1), Tensor::zeros({300})};
  std::vector<std::vector<double>> values;
  for (const Tensor& input : in) values.push_back(input.to_vector<double>());
  expect_close(run(in), plain_layer_norm(values), 1, 1000);
}

TEST(LayerNorm, EachInputAloneMayBeTrained) {
  const std::vector<Tensor> in = operands({6, 5});
  const std::vector<Tensor> expected = results_of(in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    GradientTape tape;
    tape.watch(in[i]);
    const Tensor y = run(in);
    expect_same_bits(tape.gradient(sum(multiply(y, random_tensor(y.shape(), 5))), std::array{in[i]})[0], expected[i]);
  }
}

TEST(LayerNorm, NoRowsGiveZeroGradients) {
  const std::vector<Tensor> results = results_of(operands({0, 3, 5}));
  EXPECT_EQ(results[3].shape(), Shape({0, 3, 5}));
  EXPECT_EQ(results[0].shape(), Shape({0, 3, 5}));
  expect_same_bits(results[1], Tensor::zeros({5}));
  expect_same_bits(results[2], Tensor::zeros({5}));
}

TEST(LayerNorm, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in = operands({4, 5});
  EXPECT_ERROR(InvalidArgument, "x must be f32 (..., features), got f32 ()",
               layer_norm(Tensor::zeros({}), in[1], in[2]));
  EXPECT_ERROR(InvalidArgument, "gamma for x (4, 5) must be f32 (5), got f32 (4)",
               layer_norm(in[0], Tensor::zeros({4}), in[2]));
  EXPECT_ERROR(InvalidArgument, "beta for x (4, 5) must be f32 (5)", layer_norm(in[0], in[1], {}));
}

}  // namespace
}  // namespace lockstep::test
