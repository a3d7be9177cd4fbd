#include <gtest/gtest.h>

#include <lockstep/kernels/elementwise/place_kernels.h>

#include "parity.h"

// Kernels whose results are computed from the places of elements; they have no source of their own for CPUs.

namespace lockstep::test {
namespace {

constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8};

TEST(GridPlace, Range) {
  for (const DType dtype : all_dtypes)
    for (const std::int64_t n : {0, 1, 700}) {
      const Tensor y = Tensor::zeros({n}, dtype);
      Runner{Source::shared}(kernels::Range{3, 0.125, y});
      std::vector<double> expected;
      for (std::int64_t i = 0; i < n; ++i) expected.push_back(3 + 0.125 * static_cast<double>(i));
      expect_same_bits(
          y, in_dtype(dtype,
                      in_dtype(DType::f32, Tensor::from(std::vector<float>(expected.begin(), expected.end()), {n}))));
    }
}

TEST(GridPlace, Triangle) {
  for (const DType dtype : all_dtypes)
    for (const bool lower : {true, false}) {
      const Tensor x = in_dtype(dtype, random_tensor({2, 17, 30}, 1, 1, 100));
      const Tensor y = Tensor::zeros(x.shape(), dtype);
      Runner{Source::shared}(kernels::Triangle{x, lower, 2, y});
      const std::vector<double> from = x.to_vector<double>();
      const std::vector<double> to = y.to_vector<double>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const auto right = static_cast<std::int64_t>(i % 30) - static_cast<std::int64_t>(i / 30 % 17) - 2;
        ASSERT_EQ(to[i], (lower ? right <= 0 : right >= 0) ? from[i] : 0) << i;
      }
    }
}

// Results i of 4 of 10 elements cover 0-2, 2-4, 5-7 and 7-9; those of 7 elements 0-1, 1-3, 3-5 and 5-6, of two sizes.
TEST(GridPlace, AdaptivePlaces) {
  const Tensor y = Tensor::zeros({4}, DType::i64);
  Runner{Source::shared}(kernels::AdaptivePlaces{10, 3, y});
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 5, 7}));
  Runner{Source::shared}(kernels::AdaptivePlaces{7, 2, y});  // six windows of 2 before those of 3
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 7, 9, 5}));
}

}  // namespace
}  // namespace lockstep::test
