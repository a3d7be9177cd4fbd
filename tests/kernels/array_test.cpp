#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

TEST(Reshape, FlattenKeepsTheRows) {
  EXPECT_EQ(flatten(Tensor::zeros({2, 3, 4})).shape(), (Shape{2, 12}));
  EXPECT_EQ(flatten(Tensor::zeros({0, 3, 4})).shape(), (Shape{0, 12}));
}

TEST(Reshape, OfADenseTensorCopiesNothing) {
  const Tensor x = random_tensor({2, 6}, 1);
  EXPECT_EQ(reshape(x, {3, 4}).raw_data(), x.raw_data());
}

TEST(Reshape, OfAStridedGradientMakesItDense) {
  const Tensor x = random_tensor({2, 12}, 1);
  const Tensor other = random_tensor({2, 3, 5}, 2);
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> parts = {other,
                                     reshape(x, {2, 3, 4})};  // its gradient is a slice of the gradient of the whole
  const Tensor weights = random_tensor({2, 3, 9}, 3);
  const Tensor gradient = tape.gradient(sum(concatenate(parts, 2) * weights), std::span(&x, 1))[0];
  expect_same_bits(gradient, dense_copy(weights.slice_view(2, 5, 9)).view({2, 12}));
}

TEST(Slice, IsAView) {
  const Tensor x = random_tensor({3, 5, 4}, 1);
  EXPECT_EQ(slice(x, 0, 1, 3).raw_data(), x.data<float>() + 20);
  EXPECT_EQ(slice(x, 1, 2, 2).elements(), 0);
}

TEST(Transpose, IsAView) {
  const Tensor x = random_tensor({3, 5, 4}, 1);
  const Tensor y = transpose(x, {2, 0, 1});
  EXPECT_EQ(y.shape(), (Shape{4, 3, 5}));
  EXPECT_EQ(y.raw_data(), x.raw_data());
  EXPECT_EQ(transpose(Tensor::scalar(1.0F)).shape(), Shape());
}

TEST(Split, IsTheSlicesWithOneGradient) {
  const Tensor x = random_tensor({4, 6, 2}, 1);
  for (const int axis : {0, 1, -1}) {
    const std::int64_t size = x.dim(axis) / 2;
    const std::vector<Tensor> parts = split(x, 2, axis);
    ASSERT_EQ(parts.size(), 2U);
    for (std::int64_t i = 0; i < 2; ++i)
      expect_same_bits(parts[static_cast<std::size_t>(i)], slice(x, axis, i * size, (i + 1) * size));
  }
  const Op swapped = [](std::span<const Tensor> in) {
    const std::vector<Tensor> parts = split(in[0], 3, 1);
    return concatenate(std::vector{parts[2], parts[0]}, 1);  // the result does not depend on the middle part
  };
  check_gradients(swapped,
                  [](const std::vector<std::vector<double>>& in) {
                    std::vector<double> y;
                    for (std::ptrdiff_t row = 0; row < 4; ++row)
                      for (const std::ptrdiff_t part : {2, 0})
                        y.insert(y.end(), in[0].begin() + row * 12 + part * 4, in[0].begin() + row * 12 + part * 4 + 4);
                    return y;
                  },
                  {x});
  EXPECT_ERROR(InvalidArgument, "has no 4 equal parts", split(x, 4, 1));
  EXPECT_EQ(split(Tensor::zeros({0}), 3, 0).size(), 3U);
  EXPECT_ERROR(InvalidArgument, "has no 1099511627776 equal parts",
               split(Tensor::zeros({0}), std::int64_t{1} << 40, 0));
}

TEST(Split, TakesIndices) {
  const Tensor x = random_tensor({4, 6}, 1);
  const std::vector<Tensor> parts = split(x, {2, 2, 5}, -1);
  ASSERT_EQ(parts.size(), 4U);
  expect_same_bits(parts[0], slice(x, 1, 0, 2));
  EXPECT_EQ(parts[1].shape(), (Shape{4, 0}));
  expect_same_bits(parts[2], slice(x, 1, 2, 5));
  expect_same_bits(parts[3], slice(x, 1, 5, 6));
  EXPECT_EQ(split(x, {3}, 0)[1].shape(), (Shape{1, 6})) << "braces contain indices";
  EXPECT_ERROR(InvalidArgument, "split: index 7 is outside 2 to 6 along axis 1", split(x, {2, 7}, 1));
  EXPECT_ERROR(InvalidArgument, "split: index 1 is outside 2 to 6 along axis 1", split(x, {2, 1}, 1));
}

TEST(Concat, OfSlicesThatLieSideBySideCopiesNothing) {
  const Tensor whole = random_tensor({2, 3, 6}, 1);
  const std::vector<Tensor> parts = {whole.slice_view(2, 0, 2), whole.slice_view(2, 2, 6)};
  GradientTape tape;
  for (const Tensor& part : parts) tape.watch(part);
  const Tensor y = concatenate(parts, 2);
  EXPECT_EQ(y.raw_data(), whole.raw_data());
  expect_same_bits(y, whole);
  const Tensor weights = random_tensor({2, 3, 6}, 2);
  const auto gradients = tape.gradient(sum(y * weights), parts);
  expect_same_bits(gradients[0], weights.slice_view(2, 0, 2));
  expect_same_bits(gradients[1], weights.slice_view(2, 2, 6));
}

TEST(Concat, JoinsOtherTypesToo) {
  const std::vector<Tensor> parts = {Tensor::from<std::int64_t>({1, 2}, {2}), Tensor::from<std::int64_t>({3}, {1})};
  EXPECT_THAT(concatenate(parts, 0).to_vector<int>(), ::testing::ElementsAre(1, 2, 3));
}

TEST(DenseCopy, ReturnsDenseTensorsThemselves) {
  const Tensor x = random_tensor({3, 4}, 1);
  EXPECT_EQ(dense_copy(x).id(), x.id());
  EXPECT_TRUE(dense_copy(strided_copy(x)).is_dense());
}

TEST(Array, ErrorsNameTheShapes) {
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_THAT(error_of<InvalidArgument>([&] { reshape(x, {4, 2}); }), HasSubstr("(4, 2)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { slice(x, 1, 2, 4); }), HasSubstr("slice [2, 4) is outside axis 1"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                concatenate(std::vector{x, Tensor::zeros({3, 3})}, 1);
              }),
              HasSubstr("concatenate along axis 1 of f32 (2, 3) on CPU:0 and f32 (3, 3) on CPU:0"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                concatenate(std::vector{x, Tensor::zeros({2, 3}, DType::i32)}, 0);
              }),
              HasSubstr("rank or dtype differ"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { concatenate({}, 0); }), HasSubstr("at least one tensor"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { flatten(Tensor::zeros({})); }), HasSubstr("at least one axis"));
}

TEST(ZeroPad2d, TakesBordersOfAtLeastZero) {
  const Borders2d borders(1, 2, 0, 3);
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  expect_same_bits(zero_pad2d(x, {}), x);
  EXPECT_ERROR(InvalidArgument, "borders of at least 0, got -1, 0, 0 and 0", zero_pad2d(x, {-1, 0, 0, 0}));
  EXPECT_ERROR(InvalidArgument, "x must be f32 or bf16 (n, height, width, channels), got f32 (5)",
               zero_pad2d(Tensor::zeros({5}), borders));
}

}  // namespace
}  // namespace lockstep::test
