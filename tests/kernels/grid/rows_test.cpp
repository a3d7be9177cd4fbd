#include <gtest/gtest.h>

#include <lockstep/kernels/op/rows_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

/// RowSizes of a gather or scatter: `n` indices into the rows of `outer` matrices (rows, width).
struct RowSizes {
  std::int64_t outer, rows, width, n;
};

const std::vector<RowSizes>& row_sizes() {
  static const std::vector<RowSizes> all{{1, 1, 1, 1}, {1, 7, 5, 20}, {1, 100, 33, 3}, {1, 1, 3, 500}, {1, 1000, 8, 40},
                                         {1, 4, 3, 0}, {1, 4, 0, 3},  {3, 5, 1, 40},   {2, 6, 4, 9},   {0, 4, 3, 2}};
  return all;
}

std::string text(const RowSizes& s) {
  return fmt::format("{} indices into {} x {} rows of {}", s.n, s.outer, s.rows, s.width);
}

TEST(GridRows, Gather) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8})
    for (const RowSizes& s : row_sizes()) {
      SCOPED_TRACE(text(s));
      const Tensor x = in_dtype(dtype, random_tensor({s.outer, s.rows, s.width}, 1, 0, 100));
      const Tensor indices = random_indices(s.n, s.rows, 2);
      expect_same(Results{Tensor::zeros({s.outer, s.n, s.width}, dtype)}, [&](const Runner& run, const Results& out) {
        EXPECT_EQ(run(kernels::GatherRows{x, indices, out[0]}), -1);
      });
    }
}

TEST(GridRows, ScatterWritesAndAddsInTheOrderOfPlaces) {
  for (const Write write : {Write::replace, Write::add})
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64})
      for (const RowSizes& s : row_sizes()) {
        SCOPED_TRACE(fmt::format("{}, {}", text(s), name(dtype)));
        const Tensor values = in_dtype(dtype, random_tensor({s.outer, s.n, s.width}, 1, -100, 100));
        const Tensor before = in_dtype(dtype, random_tensor({s.outer, s.rows, s.width}, 2, -100, 100));
        const Tensor indices = random_indices(s.n, s.rows, 3);
        expect_same(Results{before}, [&](const Runner& run, const Results& out) {
          EXPECT_EQ(run(kernels::ScatterRows{values, indices, write, out[0]}), -1);
        });
      }
}

TEST(GridRows, IndicesOutsideAreFoundAndLeftOut) {
  const std::vector<std::int64_t> places{1, 0, 3, 2, -1, 1};
  const Tensor indices = Tensor::from(places, {6});
  const Tensor x = random_tensor({1, 3, 2}, 1);
  const Runner grid(Source::shared);
  const Tensor y = unwritten({{1, 6, 2}})[0];
  EXPECT_EQ(first_fault(grid(kernels::GatherRows{x, indices, y}), "ids of gather_rows"), 2);
  EXPECT_EQ(y.data<float>()[6], x.data<float>()[4]);
  EXPECT_TRUE(std::isnan(y.data<float>()[4]));
  const Tensor values = random_tensor({1, 6, 2}, 2);
  const Tensor without = Tensor::from(std::vector<std::int64_t>{1, 0, no_row, 2, no_row, 1}, {6});
  for (const Write write : {Write::replace, Write::add}) {
    expect_same(Results{x}, [&](const Runner& run, const Results& out) {
      EXPECT_EQ(first_fault(run(kernels::ScatterRows{values, indices, write, out[0]}), "indices of scatter_rows"), 2);
    });
    expect_same(Results{x}, [&](const Runner& run, const Results& out) {
      EXPECT_EQ(first_fault(run(kernels::ScatterRows{values, without, write, out[0]}), "indices of scatter_rows"), -1);
    });
  }
}

}  // namespace
}  // namespace lockstep::test
