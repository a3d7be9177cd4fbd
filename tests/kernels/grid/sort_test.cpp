#include <limits>

#include <gtest/gtest.h>
#include <kernels/many_equals.h>

#include <lockstep/kernels/sorting/sorting_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

/// The least and the largest integer of T, and some that differ in the lower, the upper or both halves, many times
/// each.
template <class T>
Tensor few_integers(const Shape& shape) {
  std::vector<T> few{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}};
  if constexpr (sizeof(T) == 8) few.insert(few.end(), {-1, T{1} << 32, (T{1} << 32) + 1, -(T{1} << 32), T{1} << 31});
  std::mt19937 generator(4);
  const Tensor x = Tensor::empty(shape, dtype_of<T>);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data<T>()[i] = few[generator() % few.size()];
  return x;
}

/// Tensors of all dtypes.
std::vector<Tensor> unsorted(const Shape& shape) {
  std::vector<Tensor> result{few_integers<std::int32_t>(shape), few_integers<std::int64_t>(shape),
                             few_integers<std::uint8_t>(shape), few_integers<bool>(shape)};
  for (const DType dtype : real_dtypes)
    for (const Tensor& values : {random_tensor(shape, 1), many_equals(shape, 2)})
      result.push_back(in_dtype(dtype, values));
  return result;
}

TEST(GridSort, ByColumnAndStable) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 37, 1}, Shape{1, 3000, 1}, Shape{2, 7, 3}, Shape{1, 100, 64},
                             Shape{700, 2, 1}, Shape{2, 0, 3}, Shape{0, 5, 3}, Shape{3, 5, 0}})
    for (const Tensor& x : unsorted(shape))
      for (const SortDirection direction : {SortDirection::ascending, SortDirection::descending})
        for (const std::int64_t count : {shape[1], (shape[1] + 1) / 2}) {
          SCOPED_TRACE(fmt::format("{} of {} {}", count, shape, name(x.dtype())));
          const Shape first{shape[0], count, shape[2]};
          const Results before{Tensor::full(first, 1, x.dtype()), Tensor::full(first, -7, DType::i64)};
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
