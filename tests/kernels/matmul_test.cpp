#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/matmul/batch.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(Matmul, HasNumpysShapes) {
  const auto shape = [](const Shape& a, const Shape& b) { return matmul(Tensor::zeros(a), Tensor::zeros(b)).shape(); };
  EXPECT_EQ(shape({3}, {3}), Shape());
  EXPECT_EQ(shape({3}, {3, 4}), Shape{4});
  EXPECT_EQ(shape({2, 3}, {3}), Shape{2});
  EXPECT_EQ(shape({5, 2, 3}, {3}), (Shape{5, 2}));
  EXPECT_EQ(shape({3}, {5, 3, 4}), (Shape{5, 4}));
  EXPECT_EQ(shape({5, 1, 2, 3}, {6, 3, 4}), (Shape{5, 6, 2, 4}));
  EXPECT_EQ(shape({0, 2, 3}, {1, 3, 4}), (Shape{0, 2, 4}));
}

TEST(Matmul, OfNoRowsHasAGradientOfZero) {
  const Tensor b = random_tensor({4, 5}, 1);
  for (const Tensor& a : {Tensor::zeros({0, 4}), Tensor::zeros({3, 0, 4}), Tensor::zeros({0, 3, 4})}) {
    GradientTape tape;
    tape.watch(b);
    expect_same_bits(tape.gradient(sum(matmul(a, b)), std::array{b})[0], Tensor::zeros({4, 5}));
  }
}

TEST(Matmul, OfATensorWithItselfHasBothGradients) {
  const Tensor x = random_tensor({4, 3, 5}, 1);
  GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(sum(matmul(x, transpose(x, {0, 2, 1}))), std::array{x})[0];
  // The derivative of the sum of the products of all rows: twice the sum of the rows.
  const Tensor expected = sum(x, {1}, true) * 2.0;
  expect_close(gradient, expected.broadcast_view(x.shape()).to_vector<double>(), 10);
}

TEST(Matmul, TakesViewsThatNoLibraryTakes) {
  const Tensor b = random_tensor({5, 4, 3}, 2);
  for (const Tensor& a : {random_tensor({4, 2, 5}, 1).transposed_view(0, 2),   // gaps in rows and columns
                          random_tensor({2, 1}, 3).broadcast_view({5, 2, 4}),  // one column
                          random_tensor({2, 4}, 4).broadcast_view({5, 2, 4}),  // one matrix
                          random_tensor({5, 9, 4}, 5).slice_view(1, 3, 5),     // gaps between the matrices
                          random_tensor({5, 2, 9}, 6).slice_view(2, 1, 5)}) {  // gaps between the rows
    SCOPED_TRACE(a.strides().text());
    expect_same_bits(matmul(a, b), matmul(dense_copy(a), b));
  }
}

TEST(Matmul, OfIntegersIsExactAndWrapsAround) {
  const auto product = []<class T>(std::initializer_list<T> a, std::initializer_list<T> b) {
    return matmul(Tensor::from(std::vector<T>(a), {1, 2}), Tensor::from(std::vector<T>(b), {2, 1})).template item<T>();
  };
  constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;  // not a double
  EXPECT_EQ(product({odd, std::int64_t{-1}}, {std::int64_t{3}, std::int64_t{2}}), 3 * odd - 2);
  EXPECT_EQ(product({std::int64_t{1} << 62, std::int64_t{5}}, {std::int64_t{4}, std::int64_t{1}}), 5);
  EXPECT_EQ(product({1 << 30, -7}, {4, 3}), -21);
  EXPECT_EQ(product({std::uint8_t{200}, std::uint8_t{3}}, {std::uint8_t{2}, std::uint8_t{5}}), 400 + 15 - 256);
}

TEST(Matmul, OfBoolIsWhetherAProductIsTrue) {
  const Tensor a = Tensor::from(std::vector<bool>{true, true, true, false, false, false}, {2, 3});
  const Tensor b = Tensor::from(std::vector<bool>{true, false, true, false, true, false}, {3, 2});
  EXPECT_THAT(matmul(a, b).to_vector<bool>(), ::testing::ElementsAre(true, false, false, false));
}

TEST(Matmul, OfTwoDtypesIsRefused) {
  EXPECT_ERROR(InvalidArgument, "matmul takes tensors of one dtype, got i32 (2, 2)",
               matmul(Tensor::zeros({2, 2}, DType::i32), Tensor::zeros({2, 2}, DType::i64)));
}

TEST(BatchAxes, AreMergedWhereOneStrideServes) {
  const Tensor a = Tensor::zeros({2, 1, 3, 4, 5, 6});
  const Tensor y = Tensor::zeros({2, 1, 3, 4, 5, 7});
  const BatchAxes all = batch_axes(a, a, y);
  EXPECT_EQ(all.sizes, Shape{2 * 3 * 4});
  EXPECT_EQ(all.a, Shape{5 * 6});
  EXPECT_EQ(all.y, Shape{5 * 7});
  const BatchAxes broadcast = batch_axes(a, Tensor::zeros({1, 1, 1, 4, 6, 7}), y);
  EXPECT_EQ(broadcast.sizes, (Shape{2 * 3, 4}));
  EXPECT_EQ(broadcast.b, (Shape{0, 6 * 7}));
  const BatchAxes heads = batch_axes(Tensor::zeros({2, 5, 4, 6}).transposed_view(1, 2), Tensor::zeros({2, 4, 6, 7}),
                                     Tensor::zeros({2, 4, 5, 7}));
  EXPECT_EQ(heads.sizes, (Shape{2, 4}));
  EXPECT_EQ(heads.a, (Shape{5 * 4 * 6, 6}));
}

TEST(MatrixStrides, OfOneRowOrColumnAreThoseOfADenseMatrix) {
  const auto expect_strides = [](const Tensor& x, std::int64_t row, std::int64_t column) {
    const MatrixStrides strides = matrix_strides(x);
    EXPECT_EQ(strides.row, row);
    EXPECT_EQ(strides.column, column);
    EXPECT_TRUE(has_contiguous_lines(x));
  };
  const Tensor column = Tensor::zeros({5, 1});
  expect_strides(column, 1, 1);
  expect_strides(column.transposed_view(), 5, 1);
  const Tensor columns = Tensor::zeros({5, 4}).slice_view(1, 0, 1);
  expect_strides(columns, 4, 1);
  expect_strides(columns.transposed_view(), 1, 4);
  EXPECT_FALSE(has_contiguous_lines(Tensor::zeros({5}).broadcast_view({3, 5})));
}

}  // namespace
}  // namespace lockstep::test
