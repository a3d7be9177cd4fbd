// The products requested of cuBLASLt, computed by their definition and compared with the CPU's results.

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/cuda/matrix_product.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/write.h>

namespace lockstep::test {
namespace {

using cublas::Epilogue;
using cublas::MatrixProduct;

struct Product {
  std::vector<double> d;
  std::vector<double> sums;  ///< result of the epilogue bgrada
};

/// BLAS' product of column-major matrices, with cuBLASLt's epilogue.
Product multiply(const MatrixProduct& p, const Tensor& a, const Tensor& b, const Tensor& bias = {}) {
  const auto left = a.to_vector<double>();
  const auto right = b.to_vector<double>();
  const auto added = bias.defined() ? bias.to_vector<double>() : std::vector<double>();
  const auto at = [](std::int64_t row, std::int64_t column, std::int64_t stride) {
    return static_cast<std::size_t>(row + column * stride);
  };
  EXPECT_EQ(p.a_elements(), a.elements());
  EXPECT_EQ(p.b_elements(), b.elements());
  const auto op_a = [&](std::int64_t i, std::int64_t l, std::int64_t first = 0) {
    return left.at(static_cast<std::size_t>(first) + (p.transpose_a ? at(l, i, p.lda) : at(i, l, p.lda)));
  };
  const auto op_b = [&](std::int64_t l, std::int64_t j, std::int64_t first) {
    return right.at(static_cast<std::size_t>(first) + (p.transpose_b ? at(j, l, p.ldb) : at(l, j, p.ldb)));
  };
  const bool has_bias = p.epilogue == Epilogue::bias || p.epilogue == Epilogue::relu_bias;
  const bool has_relu = p.epilogue == Epilogue::relu || p.epilogue == Epilogue::relu_bias;
  Product result{std::vector<double>(static_cast<std::size_t>(p.d_elements())), {}};
  for (std::int64_t number = 0; number < p.batch; ++number)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = has_bias ? added.at(static_cast<std::size_t>(i)) : 0;
        for (std::int64_t l = 0; l < p.k; ++l) sum += op_a(i, l, number * p.batch_a) * op_b(l, j, number * p.batch_b);
        result.d.at(static_cast<std::size_t>(number * p.batch_d) + at(i, j, p.ldd)) = has_relu && sum < 0 ? 0 : sum;
      }
  if (p.epilogue != Epilogue::bgrada) return result;
  for (std::int64_t i = 0; i < p.m; ++i) {
    result.sums.push_back(0);
    for (std::int64_t l = 0; l < p.k; ++l) result.sums.back() += op_a(i, l);
  }
  return result;
}

struct Sizes {
  std::int64_t n, in, out;
};

class MatrixProducts : public ::testing::TestWithParam<std::tuple<Sizes, DType>> {
 protected:
  const Sizes& sizes() const { return std::get<0>(GetParam()); }
  Tensor numbers(const Shape& shape, unsigned seed) const { return in_dtype(dtype, random_tensor(shape, seed)); }

  const DType dtype = std::get<1>(GetParam());
  Tensor x = numbers({sizes().n, sizes().in}, 1);
  Tensor kernel = numbers({sizes().in, sizes().out}, 2);
  Tensor bias = random_tensor({sizes().out}, 3);
  Tensor dy = numbers({sizes().n, sizes().out}, 4);
};

/// Compares up to the rounding of f32 sums of `length` terms and of the result, which may be bf16.
void expect_sums(const Tensor& actual, const std::vector<double>& expected, std::int64_t length) {
  expect_close(actual, expected, actual.dtype() == DType::f32 ? length : 1);
}

TEST_P(MatrixProducts, GiveTheCpusDense) {
  const auto [n, in, out] = sizes();
  struct Case {
    Epilogue epilogue;
    Activation activation;
    Tensor bias{};
  };
  for (const Case& c : {Case{Epilogue::none, Activation::linear}, Case{Epilogue::bias, Activation::linear, bias},
                        Case{Epilogue::relu, Activation::relu}, Case{Epilogue::relu_bias, Activation::relu, bias}}) {
    const Tensor y = Tensor::empty({n, out}, dtype);
    launch(kernels::Dense{x, kernel, c.bias, c.activation, y});
    expect_sums(y, multiply(cublas::dense_product(n, in, out, c.epilogue, dtype), kernel, x, c.bias).d, in + 1);
  }
}

TEST_P(MatrixProducts, GiveTheCpusGradientOfX) {
  const auto [n, in, out] = sizes();
  const Tensor dx = Tensor::empty({n, in}, dtype);
  launch(kernels::DenseGradientX{dy, kernel, Write::replace, dx});
  expect_sums(dx, multiply(cublas::dense_gradient_x_product(n, in, out, dtype), kernel, dy).d, out);
}

TEST_P(MatrixProducts, GiveTheCpusGradientsOfTheParameters) {
  const auto [n, in, out] = sizes();
  const Tensor dkernel = Tensor::empty({in, out});
  const Tensor dbias = Tensor::empty({out});
  launch(kernels::DenseGradientKernel{x, dy, dkernel, dbias});
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::bgrada}) {
    const Product product = multiply(cublas::dense_gradient_kernel_product(n, in, out, epilogue, dtype), dy, x);
    expect_sums(dkernel, product.d, n);
    if (epilogue == Epilogue::bgrada) expect_sums(dbias, product.sums, n);
  }
}

/// A batch of row-major matrices, or of transposed ones, with the strides that cuBLASLt is given.
struct Batch {
  Tensor memory, matrices;
  cublas::BatchStrides strides;

  Batch(const Tensor& x, bool is_transposed)
      : memory(x),
        matrices(is_transposed ? x.transposed_view(1, 2) : x),
        strides{x.dim(0) == 1 ? 0 : x.dim(1) * x.dim(2), is_transposed ? 1 : x.dim(2), is_transposed ? x.dim(2) : 1} {}
};

TEST_P(MatrixProducts, GiveTheCpusBatches) {
  const auto [n, in, out] = sizes();
  for (const bool first : {false, true})
    for (const bool second : {false, true})
      for (const std::int64_t batch_of_b : {1, 3}) {
        const Batch a(numbers(first ? Shape{3, in, n} : Shape{3, n, in}, 1), first);
        const Batch b(numbers(second ? Shape{batch_of_b, out, in} : Shape{batch_of_b, in, out}, 2), second);
        const Tensor y = Tensor::empty({3, n, out}, dtype);
        launch(kernels::Matmul{a.matrices, b.matrices, y});
        const MatrixProduct product = cublas::batched_product(3, n, out, in, a.strides, b.strides, dtype);
        expect_sums(y, multiply(product, b.memory, a.memory).d, in);
      }
}

INSTANTIATE_TEST_SUITE_P(Sizes, MatrixProducts,
                         ::testing::Combine(::testing::Values(Sizes{3, 4, 5}, Sizes{5, 3, 2}, Sizes{1, 7, 1},
                                                              Sizes{1, 1, 6}, Sizes{1, 13, 11}, Sizes{17, 33, 9},
                                                              Sizes{64, 32, 10}),
                                            ::testing::Values(DType::f32, DType::bf16)));

TEST(MatrixProduct, HasTheSizesOfTheTransposedTensors) {
  const MatrixProduct forward = cublas::dense_product(2, 3, 5, Epilogue::bias, DType::f32);
  EXPECT_EQ(forward, (MatrixProduct{.m = 5, .n = 2, .k = 3, .lda = 5, .ldb = 3, .ldd = 5, .epilogue = Epilogue::bias}));
  EXPECT_EQ(cublas::dense_gradient_x_product(2, 3, 5, DType::f32),
            (MatrixProduct{.m = 3, .n = 2, .k = 5, .transpose_a = true, .lda = 5, .ldb = 5, .ldd = 3}));
  EXPECT_EQ(cublas::dense_gradient_kernel_product(2, 3, 5, Epilogue::none, DType::f32),
            (MatrixProduct{.m = 5, .n = 3, .k = 2, .transpose_b = true, .lda = 5, .ldb = 3, .ldd = 5}));
}

TEST(MatrixProduct, OfAnotherEpilogueIsAnother) {
  const MatrixProduct with_bias = cublas::dense_product(2, 3, 5, Epilogue::bias, DType::f32);
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu, Epilogue::relu_bias})
    EXPECT_NE(with_bias, cublas::dense_product(2, 3, 5, epilogue, DType::f32));
  EXPECT_NE(cublas::dense_gradient_kernel_product(2, 3, 5, Epilogue::none, DType::f32),
            cublas::dense_gradient_kernel_product(2, 3, 5, Epilogue::bgrada, DType::f32));
}

TEST(MatrixProduct, CountsTheElementsBetweenColumnsButNotBehindTheLast) {
  MatrixProduct product = cublas::dense_gradient_x_product(2, 3, 5, DType::f32);
  product.lda = 8;
  product.ldb = 9;
  product.ldd = 10;
  EXPECT_EQ(product.a_elements(), 2 * 8 + 5);
  EXPECT_EQ(product.b_elements(), 9 + 5);
  EXPECT_EQ(product.d_elements(), 10 + 3);
}

TEST(MatrixProduct, OfBf16GivesBf16ButForTheGradientOfParameters) {
  const MatrixProduct forward = cublas::dense_product(2, 3, 5, Epilogue::relu_bias, DType::bf16);
  EXPECT_NE(forward, cublas::dense_product(2, 3, 5, Epilogue::relu_bias, DType::f32));
  for (const MatrixProduct& product : {forward, cublas::dense_gradient_x_product(2, 3, 5, DType::bf16)}) {
    EXPECT_EQ(product.operands, DType::bf16);
    EXPECT_EQ(product.result, DType::bf16);
  }
  const MatrixProduct gradient = cublas::dense_gradient_kernel_product(2, 3, 5, Epilogue::bgrada, DType::bf16);
  EXPECT_EQ(gradient.operands, DType::bf16);
  EXPECT_EQ(gradient.result, DType::f32);
}

}  // namespace
}  // namespace lockstep::test
