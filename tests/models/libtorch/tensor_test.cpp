#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/libtorch/tensor.h>

namespace lockstep::test {
namespace {

TEST(AsTorch, SharesMemoryAndStrides) {
  const Tensor tensor = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}).transposed_view();
  const torch::Tensor view = libtorch::as_torch(tensor);
  EXPECT_TRUE(torch::equal(view, torch::tensor({{1.0, 4.0}, {2.0, 5.0}, {3.0, 6.0}}).to(torch::kFloat)));
  EXPECT_EQ(view.data_ptr(), tensor.raw_data());
  EXPECT_EQ(libtorch::shape_of(view), Shape({3, 2}));
}

TEST(AsTorch, KeepsTheMemoryAlive) {
  torch::Tensor view = libtorch::as_torch(Tensor::full({1000}, 3));
  const Tensor other = Tensor::full({1000}, 4);  // would get the memory if it were free
  EXPECT_EQ(view.sum().item<float>(), 3000);
}

TEST(AsTorch, TakesEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const torch::Tensor view = libtorch::as_torch(Tensor::full({2}, 1, dtype));
    EXPECT_EQ(view.sum().item<int>(), 2) << name(dtype);
    EXPECT_EQ(libtorch::dtype_of(view.scalar_type()), dtype);
  }
  EXPECT_EQ(libtorch::dtype_of(torch::kDouble), std::nullopt);
}

TEST(AsTorch, TakesTensorsWithoutElementsAndScalars) {
  EXPECT_EQ(libtorch::as_torch(Tensor::zeros({0, 3})).sizes(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(libtorch::as_torch(Tensor::scalar(2.0F)).item<float>(), 2);
}

TEST(FromTorch, CopiesElementsInRowMajorOrder) {
  const torch::Tensor tensor = torch::tensor({{1, 2, 3}, {4, 5, 6}}).t();
  const Tensor copy = libtorch::from_torch(tensor);
  EXPECT_EQ(copy.shape(), Shape({3, 2}));
  EXPECT_THAT(copy.to_vector<std::int64_t>(), testing::ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(libtorch::from_torch(torch::tensor(2.5F).requires_grad_()).item<float>(), 2.5F);
  EXPECT_THAT([] { libtorch::from_torch(torch::zeros({1}, torch::kDouble)); },
              testing::ThrowsMessage<Unsupported>(
                  "lockstep has no tensors of Double; it has Float, BFloat16, Int, Long, Byte and Bool"));
}

}  // namespace
}  // namespace lockstep::test
