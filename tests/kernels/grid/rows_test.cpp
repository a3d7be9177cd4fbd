#include <gtest/gtest.h>

#include <lockstep/kernels/op/rows_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

TEST(GridRows, Gather) {
  for (const auto& [rows, width, n] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {1, 1, 1}, {7, 5, 20}, {100, 33, 3}, {4, 3, 0}, {4, 0, 3}}) {
    const Tensor x = random_tensor({rows, width}, 1);
    const Tensor indices = random_indices(n, rows, 2);
    expect_same_results({{n, width}}, [&](const Runner& run, const Results& out) {
      EXPECT_EQ(run(kernels::GatherRows{x, indices, out[0]}), -1);
    });
  }
}

TEST(GridRows, ScatterAddsInTheOrderOfPlaces) {
  for (const DType dtype : real_dtypes)
    for (const auto& [rows, width, n] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
             {1, 1, 1}, {1, 3, 500}, {7, 5, 300}, {1000, 8, 40}, {4, 3, 0}, {4, 0, 3}}) {
      SCOPED_TRACE(fmt::format("{} into {} rows of {}, {}", n, rows, width, name(dtype)));
      const Tensor values = in_dtype(dtype, random_tensor({n, width}, 1));
      const Tensor before = in_dtype(dtype, random_tensor({rows, width}, 2));
      const Tensor indices = random_indices(n, rows, 3);
      expect_same(Results{before}, [&](const Runner& run, const Results& out) {
        EXPECT_EQ(run(kernels::ScatterAddRows{values, indices, out[0]}), -1);
      });
    }
}

TEST(GridRows, IndicesOutsideAreFoundAndLeftOut) {
  const std::vector<std::int64_t> places{1, 0, 3, 2, -1, 1};
  const Tensor indices = Tensor::from(places, {6});
  const Tensor x = random_tensor({3, 2}, 1);
  const Runner grid(Source::shared);
  const Tensor y = unwritten({{6, 2}})[0];
  EXPECT_EQ(first_fault(grid(kernels::GatherRows{x, indices, y}), "ids of gather_rows"), 2);
  EXPECT_EQ(y.data<float>()[6], x.data<float>()[4]);
  EXPECT_TRUE(std::isnan(y.data<float>()[4]));
  const Tensor values = random_tensor({6, 2}, 2);
  expect_same(Results{x}, [&](const Runner& run, const Results& out) {
    EXPECT_EQ(first_fault(run(kernels::ScatterAddRows{values, indices, out[0]}), "indices of scatter_add_rows"), 2);
  });
  const Tensor without = Tensor::from(std::vector<std::int64_t>{1, 0, no_row, 2, no_row, 1}, {6});
  expect_same(Results{x}, [&](const Runner& run, const Results& out) {
    EXPECT_EQ(first_fault(run(kernels::ScatterAddRows{values, without, out[0]}), "indices of scatter_add_rows"), -1);
  });
}

}  // namespace
}  // namespace lockstep::test
