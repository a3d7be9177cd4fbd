#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/op/layout.h>

namespace lockstep::test {
namespace {

TEST(Layout, RowsMayBeWiderThanTheLastAxis) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  EXPECT_TRUE(is_rows(x));
  EXPECT_EQ(row_stride(x), 5);
  const Tensor channels = x.slice_view(3, 1, 3);
  EXPECT_TRUE(is_rows(channels));
  EXPECT_EQ(row_stride(channels), 5);
  EXPECT_TRUE(is_rows(x.slice_view(3, 2, 3)));
  EXPECT_TRUE(
      is_rows(x.slice_view(0, 1, 2).slice_view(1, 0, 2).slice_view(3, 0, 2)));  // a single image: still evenly spaced
  EXPECT_TRUE(is_rows(Tensor::zeros({})));
}

TEST(Layout, RowsAreEvenlySpacedAndDoNotOverlap) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  EXPECT_FALSE(is_rows(x.slice_view(1, 0, 2)));
  EXPECT_FALSE(is_rows(x.slice_view(2, 0, 2)));
  EXPECT_FALSE(is_rows(random_tensor({5}, 1).broadcast_view({3, 5})));
  EXPECT_FALSE(is_rows(random_tensor({3, 1}, 1).broadcast_view({3, 5})));
}

TEST(Layout, CopiesOnlyWhatIsLaidOutOtherwise) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor channels = x.slice_view(2, 1, 3);
  const Tensor lines = x.slice_view(1, 0, 2);
  EXPECT_EQ(make_dense(x).id(), x.id());
  EXPECT_EQ(make_rows(channels).id(), channels.id());
  for (const Tensor& copy : {make_dense(lines), make_rows(lines)}) {
    EXPECT_TRUE(copy.is_dense());
    expect_same_bits(copy, lines);
  }
  expect_same_bits(make_dense(channels), channels);
}

TEST(Layout, CopiesOnlyWhatIsOfAnotherDtype) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_EQ(in_dtype(DType::f32, x).id(), x.id());
  const Tensor part = x.slice_view(1, 1, 3);
  EXPECT_EQ(in_dtype(DType::f32, part).id(), part.id());
  const Tensor rounded = in_dtype(DType::bf16, part);
  EXPECT_EQ(rounded.dtype(), DType::bf16);
  EXPECT_TRUE(rounded.is_dense());
  expect_close(rounded, part.to_vector<double>());
}

}  // namespace
}  // namespace lockstep::test
