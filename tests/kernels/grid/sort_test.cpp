#include <gtest/gtest.h>
#include <kernels/many_equals.h>

#include <lockstep/kernels/sorting/sorting_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

TEST(GridSort, ByColumnAndStable) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 37, 1}, Shape{1, 3000, 1}, Shape{2, 7, 3}, Shape{1, 100, 64},
                             Shape{700, 2, 1}, Shape{2, 0, 3}, Shape{0, 5, 3}, Shape{3, 5, 0}})
    for (const Tensor& values : {random_tensor(shape, 1), many_equals(shape, 2)})
      for (const DType dtype : real_dtypes)
        for (const SortDirection direction : {SortDirection::ascending, SortDirection::descending})
          for (const std::int64_t count : {shape[1], (shape[1] + 1) / 2}) {
            SCOPED_TRACE(fmt::format("{} of {} {}", count, shape, name(dtype)));
            const Tensor x = in_dtype(dtype, values);
            const Shape first{shape[0], count, shape[2]};
            const Results before{Tensor::full(first, -7, dtype), Tensor::full(first, -7, DType::i64)};
            expect_same(before, [&](const Runner& run, const Results& out) {
              run(kernels::SortMiddle{x, direction, out[0], out[1]});
            });
          }
}

TEST(GridSort, GradientIsZeroButAtTheIndices) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 37, 1}, Shape{2, 7, 3}, Shape{1, 100, 64}, Shape{0, 5, 3}})
    for (const DType dtype : real_dtypes)
      for (const std::int64_t count : {shape[1], (shape[1] + 1) / 2}) {
        SCOPED_TRACE(fmt::format("{} of {} {}", count, shape, name(dtype)));
        const Shape first{shape[0], count, shape[2]};
        const Tensor indices = Tensor::empty(first, DType::i64);
        kernels::run_on_cpu(
            kernels::SortMiddle{random_tensor(shape, 1), SortDirection::ascending, Tensor::empty(first), indices});
        const Tensor dy = in_dtype(dtype, random_tensor(first, 2));
        expect_same_results(dtype, {shape}, [&](const Runner& run, const Results& out) {
          run(kernels::SortMiddleGradient{dy, indices, out[0]});
        });
      }
}

}  // namespace
}  // namespace lockstep::test
