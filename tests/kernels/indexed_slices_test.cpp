#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/op/indexed_slices.h>

namespace lockstep::test {
namespace {

Tensor rows(const std::vector<float>& values, std::int64_t width) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size()) / width, width});
}

Tensor indices(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

TEST(IndexedSlices, BecomeDenseWithRowsOfOneIndexAddedUp) {
  // TF case 50: testAggregateIndexedSlices -> [[1,2],[5,6],[10,12]]
  const IndexedSlices slices{rows({1, 2, 3, 4, 5, 6, 7, 8}, 2), indices({0, 2, 1, 2}), {3, 2}};
  const Tensor dense = to_dense(slices);
  EXPECT_EQ(dense.shape(), Shape({3, 2}));
  EXPECT_EQ(dense.to_vector<float>(), (std::vector<float>{1, 2, 5, 6, 10, 12}));
}

TEST(IndexedSlices, AreMadeDenseAmongDenseValues) {
  const IndexedSlices slices{rows({1, 2}, 1), indices({2, 2}), {3, 1}};
  expect_same_bits(as_dense(slices), to_dense(slices));
  const Tensor dense = Tensor::zeros({3, 1});
  EXPECT_EQ(as_dense(dense).raw_data(), dense.raw_data());
}

TEST(IndexedSlices, MayBeEmpty) {
  expect_same_bits(to_dense({Tensor::zeros({0, 3}), indices({}), {2, 3}}), Tensor::zeros({2, 3}));
}

TEST(IndexedSlices, SumDuplicatesKeepsEachIndexOnceInOrder) {
  const IndexedSlices slices{rows({1, 2, 3, 4, 5, 6, 7, 8}, 2), indices({4, 2, 4, 0}), {5, 2}};
  const IndexedSlices summed = sum_duplicates(slices);
  EXPECT_EQ(summed.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(summed.values.to_vector<float>(), (std::vector<float>{7, 8, 3, 4, 6, 8}));
  EXPECT_EQ(summed.dense_shape, slices.dense_shape);
  expect_same_bits(to_dense(summed), to_dense(slices));
  expect_same_bits(sum_duplicates(summed).values, summed.values);
  EXPECT_EQ(sum_duplicates({Tensor::zeros({0, 3}), indices({}), {2, 3}}).indices.elements(), 0);
  EXPECT_ERROR(InvalidArgument, "index 5", to_dense(sum_duplicates({rows({1, 2}, 1), indices({5, 5}), {5, 1}})));
}

TEST(IndexedSlices, AreAddedToADenseTensor) {
  const Tensor dense = rows({1, 1, 1}, 1);
  scatter_add({rows({2, 3, 4}, 1), indices({2, 0, 2}), {3, 1}}, dense);
  EXPECT_EQ(dense.to_vector<float>(), (std::vector<float>{4, 1, 7}));
  EXPECT_ERROR(InvalidArgument, "cannot be added to f32 (3, 1)",
               scatter_add({rows({2}, 1), indices({0}), {2, 1}}, dense));
}

TEST(IndexedSlices, JoinTheirRows) {
  const IndexedSlices a{rows({1, 2}, 1), indices({3, 0}), {4, 1}};
  const IndexedSlices b{rows({5}, 1), indices({3}), {4, 1}};
  EXPECT_EQ(to_dense(joined(a, b)).to_vector<float>(), (std::vector<float>{2, 0, 0, 6}));
  expect_same_bits(joined({}, b).values, b.values);
  EXPECT_ERROR(InvalidArgument, "differ in dense shape or dtype", joined(a, {rows({5}, 1), indices({3}), {5, 1}}));
}

TEST(IndexedSlices, ThatDoNotFitTogetherAreRefused) {
  const Tensor two_rows = rows({1, 2}, 1);
  EXPECT_ERROR(InvalidArgument, "3 indices of rows of (5, 1) need values of (3, 1)",
               to_dense({two_rows, indices({0, 1, 2}), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "index 5 at place 1 is outside 2 rows of f32 (5, 1)",
               to_dense({two_rows, indices({0, 5}), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "index -1", to_dense({two_rows, indices({-1, 0}), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "one axis of i64", to_dense({two_rows, Tensor::zeros({2}, DType::i32), {5, 1}}));
}

}  // namespace
}  // namespace lockstep::test
