#include <span>

#include <gtest/gtest.h>

#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/scan/scan_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

// Rows for teams of a warp and of a block, with and without a rest; columns; each with a middle axis that is split, in
// the last shape so that the last parts are empty.
const std::vector<Shape> scan_shapes{{1, 1, 1},    {5, 37, 1}, {3, 128, 1},  {2, 129, 1},   {3, 1500, 1}, {1, 20011, 1},
                                     {2, 8192, 1}, {2, 7, 3},  {1, 100, 64}, {3, 33, 70},   {1, 1001, 3}, {2, 700, 40},
                                     {2, 0, 3},    {0, 5, 3},  {3, 5, 0},    {1, 131073, 2}};

template <class Check>
void for_each_scan(std::span<const DType> dtypes, const Check& check) {
  for (const Shape& shape : scan_shapes)
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        for (const DType dtype : dtypes) {
          SCOPED_TRACE(fmt::format("{} {}, exclusive {}, reverse {}", shape, name(dtype), exclusive, reverse));
          check(shape, dtype, exclusive, reverse);
        }
}

TEST(GridScan, SumsOfWholeNumbersMissNothing) {
  const DType dtypes[] = {DType::f32, DType::bf16, DType::i32, DType::i64};
  for_each_scan(dtypes, [](const Shape& shape, DType dtype, bool exclusive, bool reverse) {
    const Tensor x = in_dtype(dtype, whole_numbers(shape, 1));
    expect_same_results(dtype, {shape}, [&](const Runner& run, const Results& out) {
      run(kernels::CumulativeSum{x, exclusive, reverse, out[0]});
    });
  });
}

TEST(GridScan, SumsAreThoseOfTheCpuRounded) {
  for_each_scan(real_dtypes, [](const Shape& shape, DType dtype, bool exclusive, bool reverse) {
    const Tensor x = in_dtype(dtype, random_tensor(shape, 1, -1, 2));
    const auto sum = [&](const Runner& run, const Results& out) {
      run(kernels::CumulativeSum{x, exclusive, reverse, out[0]});
    };
    expect_near({shape}, shape[1], sum, dtype);
  });
}

/// Rows for teams of a warp and of a block, in one round and in several.
const std::vector<Shape> product_shapes{{1, 1}, {5, 37}, {2, 129}, {3, 1500}, {2, 3000}, {0, 5}, {3, 0}};

TEST(GridScan, ProductsAreThoseOfEachRow) {
  for (const Shape& shape : product_shapes) {
    const Tensor x = random_tensor(shape, 1, 0.98, 1.02);
    const Tensor y = Tensor::zeros(shape);
    Runner{Source::shared}(kernels::CumulativeProduct{x, y});
    std::vector<double> expected = x.to_vector<double>();
    for (std::size_t at = 0; at < expected.size(); ++at)
      if (static_cast<std::int64_t>(at) % shape[1] > 0) expected[at] *= expected[at - 1];
    expect_close(y, expected, 2);
  }
}

TEST(GridScan, ProductsOfIntegersWrapAround) {
  for (const Shape& shape : product_shapes) {
    const Tensor x = in_dtype(DType::i32, random_tensor(shape, 1, -99, 99));
    for (std::int32_t& factor : x.span<std::int32_t>()) factor |= 1;  // even ones would soon make products 0
    const Tensor y = Tensor::zeros(shape, DType::i32);
    Runner{Source::shared}(kernels::CumulativeProduct{x, y});
    const auto factors = x.to_vector<std::int64_t>();
    std::vector<std::int32_t> expected;
    for (std::size_t at = 0; at < factors.size(); ++at) {
      const bool is_first = static_cast<std::int64_t>(at) % shape[1] == 0;
      expected.push_back(static_cast<std::int32_t>(factors[at] * (is_first ? 1 : expected.back())));
    }
    EXPECT_EQ(y.to_vector<std::int32_t>(), expected);
  }
}

TEST(GridScan, GradientsOfProductsAreThoseOfEachRow) {
  for (const Shape& shape : product_shapes)
    for (const bool is_running : {false, true}) {
      const std::int64_t n = shape[1];
      const Tensor x = random_tensor(shape, 1, 0.98, 1.02);
      const Tensor dy = random_tensor({shape[0], is_running ? n : 1}, 2, 0.5, 1);
      const Tensor dx = Tensor::zeros(shape);
      Runner{Source::shared}(kernels::ProductGradient{x, dy, dx});
      const std::vector<double> factors = x.to_vector<double>();
      const std::vector<double> gradients = dy.to_vector<double>();
      std::vector<double> expected(factors.size());
      for (std::int64_t row = 0; row < shape[0]; ++row) {
        double before = 1;
        for (std::int64_t k = 0; k < n; ++k) {
          double product = before;  // of the elements 0 to i, without k
          for (std::int64_t i = k; i < n; ++i) {
            if (i > k) product *= factors[static_cast<std::size_t>(row * n + i)];
            if (is_running)
              expected[static_cast<std::size_t>(row * n + k)] +=
                  product * gradients[static_cast<std::size_t>(row * n + i)];
          }
          if (!is_running)
            expected[static_cast<std::size_t>(row * n + k)] = product * gradients[static_cast<std::size_t>(row)];
          before *= factors[static_cast<std::size_t>(row * n + k)];
        }
      }
      expect_close(dx, expected, 2);
    }
}

}  // namespace
}  // namespace lockstep::test
