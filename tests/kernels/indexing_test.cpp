#include <array>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/scatter.h>
#include <lockstep/kernels/indexing/take.h>

namespace lockstep::test {
namespace {

using testing::ElementsAre;

Tensor numbers(const std::vector<std::int64_t>& values, const Shape& shape) { return Tensor::from(values, shape); }

TEST(Take, PutsTheShapeOfTheIndicesInPlaceOfTheAxis) {
  const Tensor x = random_tensor({2, 5, 3}, 1);
  EXPECT_EQ(take(x, Tensor::scalar<std::int64_t>(4), 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(take(x, numbers({}, {0}), -1).shape(), (Shape{2, 5, 0}));
  EXPECT_EQ(take(x, Tensor::zeros({4, 1, 2}, DType::u8), -2).shape(), (Shape{2, 4, 1, 2, 3}));
  expect_same_bits(take(x, numbers({3, -4}, {2}), 1),
                   concatenate(std::array{x.slice_view(1, 3, 4), x.slice_view(1, 1, 2)}, 1));
}

TEST(Take, WithoutAnAxisHasTheShapeOfTheIndices) {
  const Tensor x = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  const Tensor y = take(x, numbers({5, 0, -2, 3}, {2, 2}));
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(5, 0, 4, 3));
}

TEST(Take, NamesAnIndexOutOfRange) {
  const Tensor x = random_tensor({2, 5}, 1);
  EXPECT_ERROR(InvalidArgument, "take: the index (10) at place 0 is outside (10)", take(x, numbers({10}, {1})));
  EXPECT_ERROR(InvalidArgument, "take: the index (5) at place 1 is outside (5)", take(x, numbers({0, 5}, {2}), 1));
  EXPECT_ERROR(InvalidArgument, "take: the index (-3) at place 0 is outside (2)", take(x, numbers({-3}, {1}), 0));
  EXPECT_ERROR(InvalidArgument, "take takes indices of i64, i32 or u8, got f32 (2, 5)", take(x, x, 0));
  EXPECT_ERROR(InvalidArgument, "take takes indices of i64, i32 or u8, got an undefined tensor", take(x, {}, 0));
}

TEST(TakeAlongAxis, NamesWhatDoesNotFit) {
  const Tensor x = random_tensor({2, 5}, 1);
  EXPECT_ERROR(InvalidArgument, "take_along_axis: index 5 at place 1 is outside the 5 elements of the axis",
               take_along_axis(x, numbers({0, 5}, {2, 1}), 1));
  EXPECT_ERROR(InvalidArgument, "take_along_axis takes indices of x's rank, got i64 (2) on ",
               take_along_axis(x, numbers({0, 1}, {2}), 1));
  EXPECT_ERROR(InvalidArgument, "take_along_axis: shapes (2, 1) and (3, 1) do not broadcast",
               take_along_axis(x, numbers({0, 1, 2}, {3, 1}), 1));
}

TEST(OneHot, HasAnAxisForTheClasses) {
  const Tensor ids = numbers({2, 0, -1, 3}, {2, 2});
  EXPECT_EQ(one_hot(ids, 3, 0).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(one_hot(ids, 0).shape(), (Shape{2, 2, 0}));
  EXPECT_ERROR(InvalidArgument, "at least 0 classes, got -1", one_hot(ids, -1));
}

TEST(Scatter, AddsIntegersToo) {
  const Tensor at = numbers({1, 1, 0}, {3, 1});
  EXPECT_THAT(scatter(at, numbers({5, 6, 7}, {3}), {3}).to_vector<int>(), ElementsAre(7, 11, 0));
  EXPECT_THAT(scatter(numbers({}, {0, 1}), numbers({}, {0}), {2}).to_vector<int>(), ElementsAre(0, 0));
  EXPECT_THAT(segment_sum(numbers({5, 6, 7}, {3}), numbers({1, 1, 0}, {3}), 2).to_vector<int>(), ElementsAre(7, 11));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(scatter(numbers({0, 0}, {2, 1}), numbers({most, 1}, {2}), {1}).item<std::int64_t>(), -most - 1);
}

TEST(ScatterUpdate, LetsTheLastOfEqualIndicesCount) {
  const Tensor at = numbers({1, 1, -3}, {3, 1});
  EXPECT_THAT(scatter_update(numbers({1, 2, 3}, {3}), at, numbers({5, 6, 7}, {3})).to_vector<int>(),
              ElementsAre(7, 6, 3));
}

TEST(Scatter, NamesWhatDoesNotFit) {
  const Tensor x = random_tensor({3, 4}, 1);
  const Tensor at = numbers({0, 2}, {2, 1});
  EXPECT_ERROR(InvalidArgument, "scatter: the index (0, 4) at place 0 is outside (3, 4)",
               scatter(numbers({0, 4}, {1, 2}), Tensor::zeros({1}), {3, 4}));
  EXPECT_ERROR(InvalidArgument,
               "scatter_update: values for indices (2, 1) of a tensor (3, 4) must have shape (2, 4), got f32 (2, 3)",
               scatter_update(x, at, Tensor::zeros({2, 3})));
  EXPECT_ERROR(InvalidArgument, "scatter: indices (..., d) of a tensor (3) need a d of 1 to 1, got i64 (1, 2)",
               scatter(numbers({0, 4}, {1, 2}), Tensor::zeros({1}), {3}));
  for (const DType dtype : {DType::u8, DType::boolean})
    EXPECT_ERROR(InvalidArgument, fmt::format("scatter takes f32, bf16, i32 or i64, got {} (2, 4)", name(dtype)),
                 scatter(at, Tensor::zeros({2, 4}, dtype), {3, 4}));
  EXPECT_ERROR(InvalidArgument, "scatter_update takes tensors of one dtype, got f32 (3, 4) on ",
               scatter_update(x, at, Tensor::zeros({2, 4}, DType::bf16)));
  EXPECT_ERROR(InvalidArgument, "segment_sum takes segment_ids of shape (3) for the rows of f32 (3, 4)",
               segment_sum(x, numbers({0, 1}, {2}), 2));
  EXPECT_ERROR(InvalidArgument, "segment_sum takes at least 0 segments, got -1",
               segment_sum(x, numbers({0, 1, 0}, {3}), -1));
  EXPECT_ERROR(InvalidArgument, "segment_sum takes f32, bf16, i32 or i64, got u8 (1)",
               segment_sum(Tensor::zeros({1}, DType::u8), numbers({0}, {1}), 1));
  EXPECT_ERROR(InvalidArgument, "segment_sum takes rows (n, ...), got f32 ()",
               segment_sum(Tensor::scalar(1.0F), numbers({0}, {1}), 1));
}

}  // namespace
}  // namespace lockstep::test
