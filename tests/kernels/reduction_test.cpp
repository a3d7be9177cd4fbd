#include <cmath>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(Sum, KeepsOrDropsTheSummedAxes) {
  const Tensor x = Tensor::zeros({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Shape{});
  EXPECT_EQ(sum(x, {1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(sum(x, {0, -1}, true).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(mean(x, {0, 1, 2}).shape(), Shape{});
}

TEST(Sum, OfManyElementsIsRoundedOnce) {
  // A running f32 sum of these would stop growing at 2^24.
  EXPECT_EQ(sum(Tensor::full({40'000'001}, 1)).item<float>(), 40'000'001.0F);
  const Tensor x = random_tensor({3, 70'001}, 3, 0, 1);
  const auto values = x.to_vector<double>();
  for (std::size_t row = 0; row < 3; ++row) {
    double exact = 0;
    for (std::size_t i = 0; i < 70'001; ++i) exact += values[row * 70'001 + i];
    EXPECT_EQ(sum(x, {1}).to_vector<float>()[row], static_cast<float>(exact));
  }
}

TEST(Mean, OfBfloat16IsRoundedOnce) {
  // 257 is not a bf16: as a divisor of that dtype it was 256.
  std::vector<float> values(257, 1);
  values.back() = 0;
  const Tensor x = cast(Tensor::from(values, {257}), DType::bf16);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = mean(x);
  EXPECT_EQ(y.to_vector<float>().front(), 0.99609375F);  // nearest to 256 / 257
  const Tensor gradient = tape.gradient(y, std::span(&x, 1)).front();
  EXPECT_EQ(gradient.to_vector<float>().front(),
            cast(Tensor::full({}, 1.0 / 257), DType::bf16).to_vector<float>().front());
}

TEST(Mean, OfNothingIsNan) {
  EXPECT_TRUE(std::isnan(mean(Tensor::zeros({0})).item<float>()));
  EXPECT_EQ(sum(Tensor::zeros({0})).item<float>(), 0);
  EXPECT_THAT(mean(Tensor::zeros({0, 3}), {0}).to_vector<float>(), ::testing::Each(::testing::IsNan()));
}

TEST(Reduction, ErrorsNameAxisAndShape) {
  EXPECT_EQ(error_of<InvalidArgument>([] {
              sum(Tensor::zeros({2, 3}), {1, -1});
            }),
            "axis -1 of shape (2, 3) is given twice");
  EXPECT_THAT(error_of<InvalidArgument>([] { sum(Tensor::zeros({2, 3}), {2}); }), ::testing::HasSubstr("2"));
  EXPECT_THAT(error_of<InvalidArgument>([] { mean(Tensor::zeros({2}, DType::i64)); }),
              ::testing::HasSubstr("mean takes f32 or bf16, got i64 (2)"));
}

TEST(Argmax, IsTheFirstLargest) {
  EXPECT_THAT(argmax(Tensor::from<float>({1, 3, 3, -5, -2, -9, 0, 0, 0}, {3, 3})).to_vector<int>(),
              ::testing::ElementsAre(1, 1, 0));
  const Tensor x = random_tensor({4, 5, 7}, 3);
  const Tensor y = argmax(x);
  EXPECT_EQ(y.shape(), (Shape{4, 5}));
  EXPECT_EQ(y.dtype(), DType::i64);
  const auto values = x.to_vector<float>();
  const auto indices = y.to_vector<std::ptrdiff_t>();
  for (std::ptrdiff_t row = 0; row < 20; ++row) {
    const auto first = values.begin() + row * 7;
    EXPECT_EQ(indices[static_cast<std::size_t>(row)], std::max_element(first, first + 7) - first);
  }
  expect_same_bits(y, argmax(strided_copy(x)));
  EXPECT_EQ(argmax(Tensor::zeros({0, 3})).elements(), 0);
}

TEST(Argmax, OfNothingIsAnError) {
  EXPECT_THAT(error_of<InvalidArgument>([] {
                argmax(Tensor::zeros({2, 0}));
              }),
              ::testing::HasSubstr("the last axis has no elements"));
  EXPECT_THAT(error_of<InvalidArgument>([] { argmax(Tensor::zeros({})); }), ::testing::HasSubstr("at least one axis"));
}

}  // namespace
}  // namespace lockstep::test
