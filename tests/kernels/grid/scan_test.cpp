#include <gtest/gtest.h>

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
void for_each_scan(const Check& check) {
  for (const Shape& shape : scan_shapes)
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        for (const DType dtype : real_dtypes) {
          SCOPED_TRACE(fmt::format("{} {}, exclusive {}, reverse {}", shape, name(dtype), exclusive, reverse));
          check(shape, dtype, exclusive, reverse);
        }
}

TEST(GridScan, SumsOfWholeNumbersMissNothing) {
  for_each_scan([](const Shape& shape, DType dtype, bool exclusive, bool reverse) {
    const Tensor x = in_dtype(dtype, whole_numbers(shape, 1));
    expect_same_results(dtype, {shape}, [&](const Runner& run, const Results& out) {
      run(kernels::CumulativeSum{x, exclusive, reverse, out[0]});
    });
  });
}

TEST(GridScan, SumsAreThoseOfTheCpuRounded) {
  for_each_scan([](const Shape& shape, DType dtype, bool exclusive, bool reverse) {
    const Tensor x = in_dtype(dtype, random_tensor(shape, 1, -1, 2));
    const auto sum = [&](const Runner& run, const Results& out) {
      run(kernels::CumulativeSum{x, exclusive, reverse, out[0]});
    };
    expect_near({shape}, shape[1], sum, dtype);
  });
}

}  // namespace
}  // namespace lockstep::test
