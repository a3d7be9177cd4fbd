#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/indexed_slices.h>

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

TEST(IndexedSlices, MayBeEmptyStridedOrOfBfloat16) {
  expect_same_bits(to_dense({Tensor::zeros({0, 3}), indices({}), {2, 3}}), Tensor::zeros({2, 3}));
  const Tensor strided = strided_copy(rows({1, 2, 3, 4}, 2));
  EXPECT_EQ(to_dense({strided, indices({1, 1}), {2, 2}}).to_vector<float>(), (std::vector<float>{0, 0, 4, 6}));
  const Tensor bf16 = cast(rows({1, 2, 3, 4}, 1), DType::bf16);
  const Tensor dense = to_dense({bf16, indices({0, 1, 0, 1}), {2, 1}});
  EXPECT_EQ(dense.dtype(), DType::bf16);
  EXPECT_EQ(dense.to_vector<float>(), (std::vector<float>{4, 6}));
}

TEST(IndexedSlices, ThatDoNotFitTogetherAreRefused) {
  const Tensor two_rows = rows({1, 2}, 1);
  EXPECT_ERROR(InvalidArgument, "3 indices of rows of (5, 1) need values of (3, 1)",
               to_dense({two_rows, indices({0, 1, 2}), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "index 5 at place 1 is outside 2 rows of f32 (5, 1)",
               to_dense({two_rows, indices({0, 5}), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "index -1", to_dense({two_rows, indices({-1, 0}), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "one axis of i64", to_dense({two_rows, Tensor::zeros({2}, DType::i32), {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "f32 and bf16 rows", to_dense({indices({7}), indices({0}), {5}}));
  EXPECT_ERROR(InvalidArgument, "need values and indices", to_dense({}));
}

}  // namespace
}  // namespace lockstep::test
