#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/indexing/diagonal.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(ExpandDims, PutsTheAxisWhereItIsInTheResult) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_EQ(expand_dims(x, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(x, 2).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(x, -3).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(x, 1).raw_data(), x.raw_data());
  EXPECT_ERROR(InvalidArgument, "expand_dims: the new axis 3 is outside -3 to 2", expand_dims(x, 3));
  EXPECT_EQ(expand_dims(x, {3, 0}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(expand_dims(x, {1, -2}).shape(), (Shape{2, 1, 1, 3}));
  EXPECT_ERROR(InvalidArgument, "expand_dims: the new axis 4 is outside -4 to 3", expand_dims(x, {0, 4}));
  EXPECT_ERROR(InvalidArgument, "expand_dims: the new axis -4 is given twice", expand_dims(x, {0, -4}));
}

TEST(Squeeze, TakesAxesOfSize1) {
  const Tensor x = random_tensor({1, 2, 1}, 1);
  EXPECT_EQ(squeeze(x).shape(), (Shape{2}));
  EXPECT_EQ(squeeze(x, {0}).shape(), (Shape{2, 1}));
  EXPECT_EQ(squeeze(x, {}).shape(), x.shape());
  EXPECT_ERROR(InvalidArgument, "squeeze: axis 1 of f32 (1, 2, 1)", squeeze(x, {1}));
}

TEST(Stack, ErrorsNameTheTensors) {
  EXPECT_ERROR(InvalidArgument, "at least one tensor", stack({}));
  EXPECT_ERROR(InvalidArgument, "stack takes tensors of one shape and dtype, got f32 (2)",
               stack(std::array{Tensor::zeros({2}), Tensor::zeros({3})}));
}

TEST(Unstack, GivesAllSlices) {
  const Tensor x = random_tensor({4, 3}, 1);
  const std::vector<Tensor> parts = unstack(x);
  ASSERT_EQ(parts.size(), 4U);
  for (std::int64_t i = 0; i < 4; ++i)
    expect_same_bits(parts[static_cast<std::size_t>(i)], x.slice_view(0, i, i + 1).view({3}));
  EXPECT_TRUE(unstack(Tensor::zeros({2, 0}), 1).empty());
}

TEST(BroadcastTo, CopiesNothing) {
  const Tensor x = random_tensor({3, 1}, 1);
  EXPECT_EQ(broadcast_to(x, {2, 3, 4}).raw_data(), x.raw_data());
  EXPECT_EQ(broadcast_to(x, {3, 1}).id(), x.id());
  EXPECT_ERROR(InvalidArgument, "does not broadcast to (2, 4)", broadcast_to(x, {2, 4}));
}

TEST(TileAndRepeat, TakeNoCopiesAndMany) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_EQ(tile(x, {0, 2}).shape(), (Shape{0, 6}));
  EXPECT_EQ(repeat(x, 0, 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(repeat(x, 3).shape(), (Shape{18}));
  expect_same_bits(tile(x, {1}), x);
  expect_same_bits(tile(x, {}), x);
  expect_same_bits(repeat(x, 1, 0), x);
  EXPECT_ERROR(InvalidArgument, "tile repeats axes at least 0 times, got -1", tile(x, {-1}));
  EXPECT_ERROR(InvalidArgument, "repeat repeats slices at least 0 times, got -2", repeat(x, -2, 0));
}

TEST(Repeat, TakesANumberForEachSlice) {
  const Tensor x = Tensor::from<int>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(repeat(x, {0, 2}, 0).to_vector<int>(), testing::ElementsAre(3, 4, 3, 4));
  EXPECT_THAT(repeat(x, {1, 2}, -1).to_vector<int>(), testing::ElementsAre(1, 2, 2, 3, 4, 4));
  EXPECT_THAT(repeat(x, {1, 0, 2, 1}).to_vector<int>(), testing::ElementsAre(1, 3, 3, 4));
  EXPECT_EQ(repeat(x, {0, 0}, 0).shape(), (Shape{0, 2}));
  expect_same_bits(repeat(x, std::vector<std::int64_t>{3}, 1), repeat(x, 3, 1));
  EXPECT_ERROR(InvalidArgument, "repeat takes a number for each of the 2 slices along axis 0 of i32 (2, 2)",
               repeat(x, {1, 2, 3}, 0));
  EXPECT_ERROR(InvalidArgument, "repeat repeats slices at least 0 times, got -1", repeat(x, {1, -1}, 1));
  constexpr std::int64_t large = std::int64_t{1} << 61;
  EXPECT_ERROR(InvalidArgument, "axis 1 would have 2^62 slices or more", repeat(x, {large, large}, 1));
}

TEST(Roll, ByWholeTurnsChangesNothing) {
  const Tensor x = random_tensor({2, 3}, 1);
  for (const std::int64_t shift : {0, 3, -6}) expect_same_bits(roll(x, shift, 1), x);
  EXPECT_EQ(roll(Tensor::zeros({0, 2}), 1, 0).shape(), (Shape{0, 2}));
}

TEST(Roll, TakesAShiftForEachAxis) {
  const Tensor x = Tensor::from<int>({0, 1, 2, 3}, {2, 2});
  EXPECT_THAT(roll(x, 1).to_vector<int>(), testing::ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(roll(x, {1, 1}, {0, 1}).to_vector<int>(), testing::ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(roll(x, {1, 1}, {0, -2}).to_vector<int>(), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_ERROR(InvalidArgument, "roll takes a shift for each axis, got 2 shifts and 1 axes", roll(x, {1, 1}, {0}));
}

TEST(Moveaxis, TakesEachAxisOnce) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  EXPECT_EQ(moveaxis(x, {0, 1}, {-1, -2}).shape(), (Shape{4, 5, 3, 2}));
  EXPECT_EQ(moveaxis(x, {3, 0}, {0, 1}).shape(), (Shape{5, 2, 3, 4}));
  EXPECT_ERROR(InvalidArgument, "axis -4 of shape (2, 3, 4, 5) is given twice", moveaxis(x, {0, -4}, {0, 1}));
  EXPECT_ERROR(InvalidArgument, "axis 3 of shape (2, 3, 4, 5) is given twice", moveaxis(x, {0, 1}, {-1, 3}));
  EXPECT_ERROR(InvalidArgument, "moveaxis takes a destination for each source, got 1 and 2", moveaxis(x, {0, 1}, {0}));
}

TEST(StopGradient, IsAConstantForTapes) {
  const Tensor x = random_tensor({2, 3}, 1).as_parameter();
  GradientTape tape;
  const Tensor y = stop_gradient(x);
  EXPECT_EQ(y.raw_data(), x.raw_data());
  expect_same_bits(tape.gradient(sum(x * y), std::array{x})[0], x * 1.0);
  EXPECT_ERROR(InvalidArgument, "stop_gradient takes a tensor, got an undefined one", stop_gradient({}));
}

TEST(Pad, TakesNoMoreThanThereIsToMirror) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_EQ(pad(x, {{0, 0}, {2, 2}}, PadMode::reflect).shape(), (Shape{2, 7}));
  EXPECT_EQ(pad(x, {{2, 0}, {3, 3}}, PadMode::symmetric).shape(), (Shape{4, 9}));
  EXPECT_ERROR(InvalidArgument, "must be at most 2, got 0 and 3", pad(x, {{0, 0}, {0, 3}}, PadMode::reflect));
  EXPECT_ERROR(InvalidArgument, "must be at most 3, got 4 and 0", pad(x, {{0, 0}, {4, 0}}, PadMode::symmetric));
  EXPECT_ERROR(InvalidArgument, "must be at most 0, got 1 and 0", pad(Tensor::zeros({0}), {{1, 0}}, PadMode::edge));
  EXPECT_ERROR(InvalidArgument, "pad takes a width for each of the 2 axes of f32 (2, 3)", pad(x, {{1, 1}}));
  EXPECT_ERROR(InvalidArgument, "widths of at least 0, got 0 and -1", pad(x, {{0, 0}, {0, -1}}));
}

TEST(Pad, OfIntegersIsExact) {
  const Tensor x = Tensor::from(std::vector<std::int64_t>{7}, {1});
  EXPECT_EQ(pad(x, {{1, 0}}, PadMode::constant, 16777217).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{16777217, 7}));
}

TEST(Eye, HasOnesOnItsDiagonal) {
  EXPECT_THAT(eye(2).to_vector<float>(), testing::ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(eye(2, 3, 1, DType::i32).to_vector<int>(), testing::ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(eye(3, 2, -1).to_vector<int>(), testing::ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_ERROR(InvalidArgument, "eye takes sizes of at least 0, got -1 and 2", eye(-1, 2));
}

TEST(Triangles, TakeAnyDiagonal) {
  const Tensor x = Tensor::full({3, 2}, 1);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::vector<float> all(6, 1);
  const std::vector<float> none(6, 0);
  EXPECT_EQ(tril(x, most).to_vector<float>(), all);
  EXPECT_EQ(tril(x, least).to_vector<float>(), none);
  EXPECT_EQ(triu(x, most).to_vector<float>(), none);
  EXPECT_EQ(triu(x, least).to_vector<float>(), all);
}

TEST(Diagonal, OutsideOfTheMatrixIsEmpty) {
  const Tensor x = Tensor::full({3, 2}, 1);
  for (const std::int64_t offset : {std::numeric_limits<std::int64_t>::max(), std::int64_t{2}, std::int64_t{-3},
                                    std::numeric_limits<std::int64_t>::min()})
    EXPECT_EQ(diagonal(x, offset).shape(), Shape{0}) << offset;
  EXPECT_EQ(diagonal(Tensor::zeros({0, 2}), 1).shape(), Shape{0});
  EXPECT_ERROR(InvalidArgument, "diagonal takes a tensor of at least two axes, got f32 (3)",
               diagonal(Tensor::zeros({3})));
  EXPECT_ERROR(InvalidArgument, "of shape (3, 2) is given twice", diagonal(x, 0, 0, -2));
  EXPECT_ERROR(InvalidArgument, "diag takes a vector or a matrix, got f32 ()", diag(Tensor::zeros({})));
  EXPECT_ERROR(InvalidArgument, "diag takes a k between",
               diag(x.slice_view(0, 0, 1).view({2}), std::numeric_limits<std::int64_t>::min()));
}

TEST(SliceUpdate, MustLieInside) {
  const Tensor x = Tensor::zeros({3, 2});
  EXPECT_ERROR(InvalidArgument, "from index 2 of axis 0 reaches beyond it",
               slice_update(x, {2, 0}, Tensor::zeros({2, 2})));
  EXPECT_ERROR(InvalidArgument, "and 1 indices", slice_update(x, {2}, Tensor::zeros({2, 2})));
}

TEST(Meshgrid, TakesVectors) {
  EXPECT_ERROR(InvalidArgument, "meshgrid takes vectors, got f32 (3, 2)", meshgrid(std::array{Tensor::zeros({3, 2})}));
  EXPECT_EQ(meshgrid(std::array{Tensor::zeros({3})})[0].shape(), Shape{3});
}

TEST(Triangles, TakeMatrices) {
  EXPECT_ERROR(InvalidArgument, "tril takes a tensor (..., rows, columns), got f32 (3)", tril(Tensor::zeros({3})));
  EXPECT_ERROR(InvalidArgument, "triu takes a tensor (..., rows, columns), got f32 (3)", triu(Tensor::zeros({3})));
}

}  // namespace
}  // namespace lockstep::test
