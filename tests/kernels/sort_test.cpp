#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <kernels/many_equals.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

/// For each place of the sorted (..., count, ...), where in the row-major x its element stands. By insertion of one
/// after the other; what is not less than its neighbor stays behind it.
std::vector<std::size_t> reference_places(const Shape& shape, int axis, std::int64_t count, SortDirection direction,
                                          const std::vector<double>& x) {
  std::size_t inner = 1;
  for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after)
    inner *= static_cast<std::size_t>(shape[after]);
  const auto n = static_cast<std::size_t>(shape.dim(axis));
  const auto kept = static_cast<std::size_t>(count);
  const std::size_t columns = n == 0 ? 0 : x.size() / n;
  std::vector<std::size_t> places(columns * kept);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t outer = column / inner;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < n; ++i) {
      order.push_back((outer * n + i) * inner + column % inner);
      const auto before = [&](std::size_t a, std::size_t b) {
        return direction == SortDirection::ascending ? x[a] < x[b] : x[a] > x[b];
      };
      for (std::size_t at = i; at > 0 && before(order[at], order[at - 1]); --at) std::swap(order[at], order[at - 1]);
    }
    for (std::size_t i = 0; i < kept; ++i) places[(outer * kept + i) * inner + column % inner] = order[i];
  }
  return places;
}

std::vector<double> elements_at(const std::vector<std::size_t>& places, const std::vector<double>& x) {
  std::vector<double> y;
  for (const std::size_t place : places) y.push_back(x[place]);
  return y;
}

/// Numbers in no order of which no two are so near each other that a difference quotient would exchange them.
Tensor distinct_numbers(const Shape& shape, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), -7.0F);
  std::ranges::shuffle(values, std::mt19937(seed));
  return Tensor::from(values, shape) * 0.125;
}

TEST(Sort, AlongAnyAxisMatchesReferenceAndItsDerivative) {
  for (const Shape& shape :
       {Shape{1}, Shape{37}, Shape{4, 6}, Shape{3, 1, 5}, Shape{2, 3, 4, 5}, Shape{0, 3}, Shape{3, 0}})
    for (int axis = -shape.rank(); axis < shape.rank(); ++axis)
      for (const SortDirection direction : {SortDirection::ascending, SortDirection::descending}) {
        SCOPED_TRACE(fmt::format("{} along {}", shape, axis));
        const Reference reference = [&](const auto& in) {
          return elements_at(reference_places(shape, axis, shape.dim(axis), direction, in[0]), in[0]);
        };
        const Op op = [=](std::span<const Tensor> in) { return sort(in[0], axis, direction); };
        const Tensor x = distinct_numbers(shape, 5);
        check_gradients(op, reference, {x});
        check_gradients(op, reference, {strided_copy(x)});
      }
}

TEST(Sort, PutsNanLastAndKeepsEqualsInTheirOrder) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = cast(Tensor::from<float>({nan, 1, -infinity, 0, -0.0F, -nan, infinity, -1}, {8}), dtype);
    EXPECT_THAT(argsort(x).to_vector<int>(), ElementsAre(2, 7, 3, 4, 1, 6, 0, 5));
    EXPECT_THAT(argsort(x, 0, SortDirection::descending).to_vector<int>(), ElementsAre(0, 5, 6, 1, 3, 4, 7, 2));
    expect_same_bits(sort(x), cast(Tensor::from<float>({-infinity, -1, 0, -0.0F, 1, infinity, nan, -nan}, {8}), dtype));
  }
}

TEST(Sort, TellsNeighboringNumbersApart) {
  const float least = std::numeric_limits<float>::denorm_min();
  const float most = std::numeric_limits<float>::max();
  const float above_1 = std::nextafter(1.0F, 2.0F);
  EXPECT_THAT(
      argsort(Tensor::from<float>({above_1, 1, least, -least, most, -most, 0, -above_1, -1}, {9})).to_vector<int>(),
      ElementsAre(5, 7, 8, 3, 6, 2, 1, 0, 4));
}

TEST(Sort, ItsGradientOfEqualsGoesToEachOfThem) {
  const Tensor x = Tensor::from<float>({2, 1, 2, 1}, {4});
  GradientTape tape;
  tape.watch(x);
  const Tensor weights = Tensor::from<float>({10, 20, 30, 40}, {4});
  const Tensor gradient = tape.gradient(sum(sort(x) * weights), std::vector{x})[0];
  EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(30, 10, 40, 20));
}

TEST(Argsort, AreTheIndicesOfWhatSortGives) {
  for (const Shape& shape : {Shape{50}, Shape{7, 300}, Shape{40, 3, 5}})
    for (int axis = 0; axis < shape.rank(); ++axis)
      for (const SortDirection direction : {SortDirection::ascending, SortDirection::descending}) {
        std::int64_t inner = 1;
        for (int after = axis + 1; after < shape.rank(); ++after) inner *= shape[after];
        const Tensor x = distinct_numbers(shape, 3) * 0;  // equal ones stay where they are
        const Tensor y = distinct_numbers(shape, 4);
        for (const Tensor& in : {x, y}) {
          std::vector<std::int64_t> expected;
          for (const std::size_t place : reference_places(shape, axis, shape[axis], direction, in.to_vector<double>()))
            expected.push_back(static_cast<std::int64_t>(place) / inner % shape[axis]);
          const Tensor indices = argsort(in, axis, direction);
          EXPECT_EQ(indices.dtype(), DType::i64);
          EXPECT_EQ(indices.shape(), shape);
          EXPECT_EQ(indices.to_vector<std::int64_t>(), expected);
        }
      }
}

TEST(TopK, AreTheFirstOfTheSortedAndTheirIndices) {
  for (const Shape& shape : {Shape{9}, Shape{5, 40}, Shape{2, 3, 1000}}) {
    const std::int64_t n = shape.dim(-1);
    const Tensor x = many_equals(shape, 1);
    const Tensor sorted = sort(x, -1, SortDirection::descending);
    const Tensor indices = argsort(x, -1, SortDirection::descending);
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{4}, n}) {
      const TopK top = top_k(x, k);
      EXPECT_EQ(top.indices.dtype(), DType::i64);
      expect_same_bits(top.values, sorted.slice_view(-1, 0, k));
      expect_same_bits(top.indices, indices.slice_view(-1, 0, k));
    }
  }
}

TEST(TopK, MatchesReferenceAndItsDerivative) {
  for (const Shape& shape : {Shape{1}, Shape{4, 6}, Shape{2, 3, 20}, Shape{0, 3}})
    for (std::int64_t k = 1; k <= shape.dim(-1); k += 2) {
      const Reference reference = [&](const auto& in) {
        return elements_at(reference_places(shape, -1, k, SortDirection::descending, in[0]), in[0]);
      };
      const Op op = [=](std::span<const Tensor> in) { return top_k(in[0], k).values; };
      const Tensor x = distinct_numbers(shape, 6);
      check_gradients(op, reference, {x}, {.samples = 60});
      check_gradients(op, reference, {strided_copy(x)});
    }
}

TEST(TopK, OfOneIsTheArgmax) {
  const Tensor x = random_tensor({30, 70}, 9);
  EXPECT_EQ(top_k(x, 1).indices.to_vector<int>(), argmax(x).to_vector<int>());
}

TEST(Sort, SameBitsOnAnyNumberOfThreads) {
  for (const Shape& shape : {Shape{700, 300}, Shape{3, 20'000}, Shape{5, 900, 7}}) {
    const Tensor x = many_equals(shape, 2);
    const auto compute = [&](int threads) {
      const ComputeThreadsScope scope(threads);
      return std::vector{sort(x, 1), argsort(x, 1), top_k(x, 3).values, top_k(x, 3).indices};
    };
    const std::vector<Tensor> first = compute(1);
    const std::vector<Tensor> other = compute(3);
    for (std::size_t i = 0; i < first.size(); ++i) expect_same_bits(other[i], first[i]);
  }
}

TEST(Sort, ErrorsNameAxisAndK) {
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range for rank 1", sort(Tensor::zeros({2}), 1));
  EXPECT_ERROR(InvalidArgument, "axis -1 is out of range for rank 0", argsort(Tensor::zeros({})));
  EXPECT_ERROR(InvalidArgument, "sort takes f32 or bf16, got i64 (2)", sort(Tensor::zeros({2}, DType::i64)));
  EXPECT_ERROR(InvalidArgument, "argsort takes f32 or bf16, got i64 (2)", argsort(Tensor::zeros({2}, DType::i64)));
  EXPECT_ERROR(InvalidArgument, "k of 1 to 2, got 0", top_k(Tensor::zeros({3, 2}), 0));
  EXPECT_ERROR(InvalidArgument, "k of 1 to 2, got 3", top_k(Tensor::zeros({3, 2}), 3));
  EXPECT_ERROR(InvalidArgument, "top_k needs at least one axis", top_k(Tensor::zeros({}), 1));
}

}  // namespace
}  // namespace lockstep::test
