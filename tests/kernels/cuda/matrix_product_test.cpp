// The products that cuBLASLt is asked for, computed here by their definition, against the CPU's.

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/cuda/matrix_product.h>

namespace lockstep::test {
namespace {

using cublas::MatrixProduct;

/// BLAS' product of matrices in columns-first order.
std::vector<double> multiply(const MatrixProduct& p, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const auto left = a.to_vector<double>();
  const auto right = b.to_vector<double>();
  const auto added = bias.defined() ? bias.to_vector<double>() : std::vector<double>();
  const auto at = [](std::int64_t row, std::int64_t column, std::int64_t stride) {
    return static_cast<std::size_t>(row + column * stride);
  };
  std::vector<double> d(static_cast<std::size_t>(p.ldd * p.n));
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = p.bias ? added.at(static_cast<std::size_t>(i)) : 0;
      for (std::int64_t l = 0; l < p.k; ++l)
        sum += left.at(p.transpose_a ? at(l, i, p.lda) : at(i, l, p.lda)) *
               right.at(p.transpose_b ? at(j, l, p.ldb) : at(l, j, p.ldb));
      d.at(at(i, j, p.ldd)) = sum;
    }
  return d;
}

struct Sizes {
  std::int64_t n, in, out;
};

class MatrixProducts : public ::testing::TestWithParam<Sizes> {
 protected:
  const Sizes& sizes() const { return GetParam(); }
  Tensor x = random_tensor({sizes().n, sizes().in}, 1);
  Tensor kernel = random_tensor({sizes().in, sizes().out}, 2);
  Tensor bias = random_tensor({sizes().out}, 3);
  Tensor dy = random_tensor({sizes().n, sizes().out}, 4);
};

TEST_P(MatrixProducts, GiveTheCpusDense) {
  const auto [n, in, out] = sizes();
  for (const Tensor& added : {bias, Tensor()}) {
    const Tensor y = Tensor::empty({n, out});
    current_backend().dense(x, kernel, added, Activation::linear, y);
    expect_close(y, multiply(cublas::dense_product(n, in, out, added.defined()), kernel, x, added), in + 1);
  }
}

TEST_P(MatrixProducts, GiveTheCpusGradientOfX) {
  const auto [n, in, out] = sizes();
  const Tensor dx = Tensor::empty({n, in});
  current_backend().dense_gradient_x(dy, kernel, dx);
  expect_close(dx, multiply(cublas::dense_gradient_x_product(n, in, out), kernel, dy, {}), out);
}

TEST_P(MatrixProducts, GiveTheCpusGradientOfTheKernel) {
  const auto [n, in, out] = sizes();
  const Tensor dkernel = Tensor::empty({in, out});
  current_backend().dense_gradient_kernel(x, dy, dkernel, {});
  expect_close(dkernel, multiply(cublas::dense_gradient_kernel_product(n, in, out), dy, x, {}), n);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MatrixProducts,
                         ::testing::Values(Sizes{3, 4, 5}, Sizes{5, 3, 2}, Sizes{1, 7, 1}, Sizes{1, 1, 6},
                                           Sizes{17, 33, 9}, Sizes{64, 32, 10}));

TEST(MatrixProduct, HasTheSizesOfTheTransposedTensors) {
  const MatrixProduct forward = cublas::dense_product(2, 3, 5, true);
  EXPECT_EQ(forward, (MatrixProduct{.m = 5, .n = 2, .k = 3, .lda = 5, .ldb = 3, .ldd = 5, .bias = true}));
  EXPECT_NE(forward, cublas::dense_product(2, 3, 5, false));
  EXPECT_EQ(cublas::dense_gradient_x_product(2, 3, 5),
            (MatrixProduct{.m = 3, .n = 2, .k = 5, .transpose_a = true, .lda = 5, .ldb = 5, .ldd = 3}));
  EXPECT_EQ(cublas::dense_gradient_kernel_product(2, 3, 5),
            (MatrixProduct{.m = 5, .n = 3, .k = 2, .transpose_b = true, .lda = 5, .ldb = 3, .ldd = 5}));
}

}  // namespace
}  // namespace lockstep::test
