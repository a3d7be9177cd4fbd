// Uses CPU memory: these functions do not access a GPU.

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/op/layout.h>

namespace lockstep::test {
namespace {

/// A dense copy at an unaligned address.
Tensor misaligned(const Tensor& x) {
  const Tensor whole = Tensor::full({x.elements() + 1}, -1, x.dtype());
  const Tensor view = whole.slice_view(0, 1, x.elements() + 1).view(x.shape());
  copy(x, view);
  return view;
}

TEST(Aligned, CopiesOnlyWhatIsNot) {
  const Tensor x = random_tensor({3, 5}, 1);
  EXPECT_EQ(aligned(x).raw_data(), x.raw_data());
  const Tensor off = misaligned(x);
  ASSERT_FALSE(is_aligned(off));
  EXPECT_TRUE(is_aligned(aligned(off)));
  expect_same_bits(aligned(off), x);
  EXPECT_FALSE(aligned(Tensor()).defined());
}

TEST(LibraryResult, IsTheWantedTensorWhenNothingIsLeftToDo) {
  const Tensor y = Tensor::zeros({2, 3});
  const LibraryResult result(y);
  EXPECT_EQ(result.tensor().raw_data(), y.raw_data());
  copy(random_tensor({2, 3}, 1), result.tensor());
  result.finish();
  expect_same_bits(y, random_tensor({2, 3}, 1));
}

TEST(LibraryResult, ComesIntoAMisalignedTensor) {
  const Tensor y = misaligned(Tensor::zeros({2, 3}));
  const LibraryResult result(y);
  EXPECT_TRUE(is_aligned(result.tensor()));
  copy(random_tensor({2, 3}, 1), result.tensor());
  result.finish();
  expect_same_bits(y, random_tensor({2, 3}, 1));
}

TEST(LibraryResult, AppliesTheActivation) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const Tensor& y : {Tensor::zeros({2}, dtype), misaligned(Tensor::zeros({2}, dtype))}) {
      const LibraryResult result(y, Activation::relu6);
      EXPECT_EQ(result.tensor().dtype(), dtype);
      copy(in_dtype(dtype, Tensor::from(std::vector<float>{-2, 7}, {2})), result.tensor());
      result.finish();
      EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 6}));
    }
}

}  // namespace
}  // namespace lockstep::test
