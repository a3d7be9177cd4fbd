#include <gtest/gtest.h>

#include <lockstep/kernels/indexing/indexing_kernels.h>

#include "parity.h"

// These kernels have no source of their own for CPUs.

namespace lockstep::test {
namespace {

TEST(GridIndexing, OneHot) {
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{0, 2, -1, 3, 1, 1}, {2, 3});
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Tensor y = Tensor::full({2, 3, 3}, dtype == DType::boolean ? 1 : 7, dtype);
    Runner{Source::shared}(kernels::OneHot{ids, y});
    const std::vector<float> expected{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0};
    expect_same_bits(y, in_dtype(dtype, Tensor::from(expected, {2, 3, 3})));
  }
}

TEST(GridIndexing, FlatIndices) {
  const Tensor pairs = Tensor::from(std::vector<std::int64_t>{0, 1, -1, -4, 2, 4, 1, 3}, {4, 2});
  const Tensor flat = Tensor::zeros({4}, DType::i64);
  EXPECT_EQ(first_fault(Runner{Source::shared}(kernels::FlatIndices{pairs, {3, 4}, flat}), "indices of flat_indices"),
            2);
  EXPECT_EQ(flat.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 8, 0, 7}));
}

TEST(GridIndexing, FlatIndicesAlong) {
  const Tensor indices = Tensor::from(std::vector<std::int64_t>{0, 1, -3, 2, 2, -1, 3, -4}, {2, 2, 2});
  const Tensor flat = Tensor::zeros({2, 2, 2}, DType::i64);
  EXPECT_EQ(
      first_fault(Runner{Source::shared}(kernels::FlatIndicesAlong{indices, 3, flat}), "indices of flat_indices_along"),
      6);
  EXPECT_EQ(flat.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 3, 0, 5, 10, 11, 0, 0}));
}

}  // namespace
}  // namespace lockstep::test
