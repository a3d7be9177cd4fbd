#include <array>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <kernels/many_equals.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/sorting/quantile.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/kernels/sorting/sparsemax.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

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

// Expected as in NumPy. Neighbors at 2^53 and above are the same number in f64.
TEST(Sort, OrdersIntegersOfAnySize) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t large = std::int64_t{1} << 53;
  const Tensor x = Tensor::from<std::int64_t>({large + 1, most, 0, -1, least, large, -large, -large - 1, 1}, {9});
  EXPECT_EQ(sort(x).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{least, -large - 1, -large, -1, 0, 1, large, large + 1, most}));
  EXPECT_THAT(argsort(x, 0, SortDirection::descending).to_vector<int>(), ElementsAre(1, 0, 5, 8, 2, 3, 6, 7, 4));
  EXPECT_EQ(top_k(x, 2).values.to_vector<std::int64_t>(), (std::vector<std::int64_t>{most, large + 1}));

  const Tensor narrow = Tensor::from<std::int32_t>({5, -2147483647 - 1, 2147483647, -1, 5}, {5});
  EXPECT_THAT(argsort(narrow).to_vector<int>(), ElementsAre(1, 3, 0, 4, 2));
  const Tensor bytes = Tensor::from<std::uint8_t>({200, 0, 127, 255, 128}, {5});
  EXPECT_THAT(sort(bytes).to_vector<int>(), ElementsAre(0, 127, 128, 200, 255));
  const Tensor truth = cast(Tensor::from<std::uint8_t>({1, 0, 1, 0}, {4}), DType::boolean);
  EXPECT_THAT(argsort(truth, 0, SortDirection::descending).to_vector<int>(), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(sort(truth).dtype(), DType::boolean);
}

TEST(Sort, ItsGradientOfEqualsGoesToEachOfThem) {
  const Tensor x = Tensor::from<float>({2, 1, 2, 1}, {4});
  GradientTape tape;
  tape.watch(x);
  const Tensor weights = Tensor::from<float>({10, 20, 30, 40}, {4});
  const Tensor gradient = tape.gradient(sum(sort(x) * weights), std::vector{x})[0];
  EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(30, 10, 40, 20));
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

TEST(TopK, OfOneIsTheArgmax) {
  const Tensor x = random_tensor({30, 70}, 9);
  EXPECT_EQ(top_k(x, 1).indices.to_vector<int>(), argmax(x, -1).to_vector<int>());
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

TEST(Quantile, OfNanIsNanAndOfInfinitiesIsNot) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({1, nan, 2, infinity, 3, infinity}, {2, 3});
  EXPECT_THAT(quantile(x, 0, {1}).to_vector<float>(), ElementsAre(testing::IsNan(), 3));
  EXPECT_THAT(quantile(x, 0.75, {1}).to_vector<float>(), ElementsAre(testing::IsNan(), infinity));
  EXPECT_EQ(median(Tensor::zeros({0, 3}), {1}).shape(), Shape{0});
}

TEST(Quantile, ErrorsNameWhatIsWrong) {
  EXPECT_ERROR(InvalidArgument, "quantile takes a q from 0 to 1, got 1.5", quantile(Tensor::zeros({2}), 1.5));
  EXPECT_ERROR(InvalidArgument, "there are no elements", median(Tensor::zeros({2, 0}), {1}));
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range", median(Tensor::zeros({2}), {1}));
}

TEST(Sparsemax, GivesLogitsOfMinusInfinityNoShare) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({0, -infinity, 0.5F, -infinity, -infinity, 2}, {2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sparsemax(x);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(0.25F, 0, 0.75F, 0, 0, 1));
  const Tensor weights = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(tape.gradient(sum(y * weights), std::array{x})[0].to_vector<float>(), ElementsAre(-1, 0, 1, 0, 0, 0));
}

TEST(Sparsemax, TakesLogitsThatAreLargerThanF32CountsIn) {
  const Tensor x = Tensor::from<float>({33554432, 0, 1e7, 1e7, -1e30F, -3e38F, 1e8F, 3e38F}, {4, 2});
  EXPECT_THAT(sparsemax(x).to_vector<float>(), ElementsAre(1, 0, 0.5F, 0.5F, 1, 0, 0, 1));
  EXPECT_ERROR(InvalidArgument, "at least one element", sparsemax(Tensor::zeros({3, 0})));
}

TEST(Sort, ErrorsNameAxisAndK) {
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range for rank 1", sort(Tensor::zeros({2}), 1));
  EXPECT_ERROR(InvalidArgument, "axis -1 is out of range for rank 0", argsort(Tensor::zeros({})));
  EXPECT_ERROR(InvalidArgument, "k of 1 to 2, got 0", top_k(Tensor::zeros({3, 2}), 0));
  EXPECT_ERROR(InvalidArgument, "k of 1 to 2, got 3", top_k(Tensor::zeros({3, 2}), 3));
  EXPECT_ERROR(InvalidArgument, "top_k needs at least one axis", top_k(Tensor::zeros({}), 1));
}

}  // namespace
}  // namespace lockstep::test
