#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;

TEST(Dense, DataGradientOfManyRowsHasTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({1444, 364}, 1);
  const Tensor kernel = random_tensor({364, 364}, 2);
  const Tensor bias = random_tensor({364}, 3);
  const auto dx_with = [&](int threads) {
    const ComputeThreadsScope scope(threads);
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(square(dense(x, kernel, bias, Activation::relu))), std::array{x})[0];
  };
  const Tensor dx = dx_with(1);
  for (const int threads : {2, 3}) expect_same_bits(dx_with(threads), dx);
}

TEST(Dense, KernelGradientOfManyRowsHasTheSameBitsOnAnyNumberOfThreads) {
  for (const std::int64_t rows : {2047, 2048, 4096}) {
    const Tensor x = random_tensor({rows, 1024}, 1);
    const Tensor dy = random_tensor({rows, 64}, 2);
    const auto gradient_with = [&](int threads) {
      const ComputeThreadsScope scope(threads);
      const Tensor dkernel = Tensor::empty({1024, 64});
      launch(kernels::DenseGradientKernel{x, dy, dkernel, Tensor::empty({64})});
      return dkernel;
    };
    const Tensor dkernel = gradient_with(1);
    const std::vector<double> left = x.to_vector<double>();
    const std::vector<double> right = dy.to_vector<double>();
    double last = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      last += left[row * 1024 + 1023] * right[row * 64 + 63];
    EXPECT_NEAR(dkernel.to_vector<double>().back(), last, 1e-4 * std::sqrt(static_cast<double>(rows)));
    for (const int threads : {2, 3, 4}) expect_same_bits(gradient_with(threads), dkernel);
  }
}

TEST(Dense, GradientOfXReplacesOrIsAddedToWhatIsThere) {
  for (const std::int64_t rows : {1, 15, 16, 200})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << name(dtype));
      const Tensor kernel = cast(random_tensor({48, 20}, 2), dtype);
      const Tensor dy = cast(random_tensor({rows, 20}, 4), dtype);
      const Tensor alone = cast(Tensor::full({rows, 48}, std::nanf("")), dtype);
      launch(kernels::DenseGradientX{dy, kernel, Write::replace, alone});
      const Tensor sum = cast(random_tensor({rows, 48}, 5), dtype);
      std::vector<double> expected = sum.to_vector<double>();
      launch(kernels::DenseGradientX{dy, kernel, Write::add, sum});
      std::ranges::transform(expected, alone.to_vector<double>(), expected.begin(), std::plus<>());
      expect_close(sum, expected, 20);
    }
}

// On GPUs computed on padded copies. Sums of products of whole numbers are exact in f32.
TEST(Dense, LargeProductsOfBf16WithOddSizesAreTheCpus) {
  if (current_context().device.kind == DeviceKind::cpu) GTEST_SKIP() << "is what the other devices are compared with";
  struct Results {
    Tensor y, dx, sum, dkernel, dbias;
  };
  for (const auto& [n, in, out] : {std::array<std::int64_t, 3>{1536, 1501, 1502},
                                   {1536, 1504, 1501},
                                   {1536, 1501, 1504},
                                   {700, 501, 301},
                                   {701, 500, 300}}) {
    SCOPED_TRACE(testing::Message() << "(" << n << ", " << in << ") to " << out);
    const auto whole = [](const Shape& shape, unsigned seed) {
      return cast(cast(random_tensor(shape, seed, -3.9, 3.9), DType::i32), DType::bf16);
    };
    const auto results = [&, n = n, in = in, out = out] {
      const Tensor x = whole({n, in}, 1);
      const Tensor kernel = whole({in, out}, 2);
      // Products that are not padded may have the bias added after they were rounded.
      const Tensor bias = n > 1000 ? cast(whole({out}, 3), DType::f32) : Tensor();
      const Tensor dy = whole({n, out}, 4);
      const Results of{Tensor::empty({n, out}, DType::bf16), Tensor::empty({n, in}, DType::bf16),
                       Tensor::zeros({n, in}, DType::bf16), Tensor::empty({in, out}), Tensor::empty({out})};
      launch(kernels::Dense{x, kernel, bias, Activation::relu, of.y});
      launch(kernels::DenseGradientX{dy, kernel, Write::replace, of.dx});
      launch(kernels::DenseGradientX{dy, kernel, Write::add, of.sum});
      launch(kernels::DenseGradientKernel{x, dy, of.dkernel, of.dbias});
      return of;
    };
    const Results actual = results();
    const ContextScope there({.device = {DeviceKind::cpu, 0}});
    const Results expected = results();
    const auto expect_same = [](const Tensor& of, const Tensor& wanted) {
      EXPECT_EQ(of.to_vector<float>(), wanted.to_vector<float>());
    };
    expect_same(actual.y, expected.y);
    expect_same(actual.dx, expected.dx);
    expect_same(actual.sum, expected.sum);
    expect_same(actual.dkernel, expected.dkernel);
    expect_same(actual.dbias, expected.dbias);
  }
}

TEST(Dense, NamesShapesThatDoNotFit) {
  const Tensor x = random_tensor({6, 7}, 1);
  const Tensor kernel = random_tensor({7, 4}, 2);
  EXPECT_THAT(error_of<InvalidArgument>([&] { dense(random_tensor({7}, 1), kernel, {}); }),
              HasSubstr("dense: x must be f32 or bf16 (n, ..., inputs), got f32 (7)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                dense(x, random_tensor({8, 4}, 2), {});
              }),
              HasSubstr("the kernel for x (6, 7) must be f32 (7, units), got f32 (8, 4)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { dense(x, kernel, random_tensor({5}, 3)); }),
              HasSubstr("the bias for kernel (7, 4) must be f32 (4), got f32 (5)"));
}

}  // namespace
}  // namespace lockstep::test
