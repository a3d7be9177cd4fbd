#include <cmath>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/scan/scan.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr CumsumOptions all_options[] = {
    {}, {.exclusive = true}, {.reverse = true}, {.exclusive = true, .reverse = true}};

/// By the definition: of each element of row-major x a sum of its own.
std::vector<double> reference_cumsum(const Shape& shape, int axis, const CumsumOptions& options,
                                     const std::vector<double>& x) {
  std::int64_t inner = 1;
  for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after) inner *= shape[after];
  const std::int64_t n = shape.dim(axis);
  std::vector<double> y(x.size());
  for (std::int64_t at = 0; at < shape.elements(); ++at)
    for (std::int64_t other = 0; other < n; ++other) {
      const std::int64_t own = at / inner % n;
      const bool earlier = options.reverse ? other > own : other < own;
      if (earlier || (other == own && !options.exclusive))
        y[static_cast<std::size_t>(at)] += x[static_cast<std::size_t>(at + (other - own) * inner)];
    }
  return y;
}

TEST(Cumsum, AlongAnyAxisMatchesReferenceAndItsDerivative) {
  for (const Shape& shape :
       {Shape{1}, Shape{37}, Shape{4, 6}, Shape{3, 1, 5}, Shape{2, 3, 4, 5}, Shape{0, 3}, Shape{3, 0}})
    for (int axis = -shape.rank(); axis < shape.rank(); ++axis)
      for (const CumsumOptions& options : all_options) {
        SCOPED_TRACE(fmt::format("{} along {}", shape, axis));
        const Reference reference = [&](const auto& in) { return reference_cumsum(shape, axis, options, in[0]); };
        const Op op = [=](std::span<const Tensor> in) { return cumsum(in[0], axis, options); };
        const GradientCheck check{.length = std::max<std::int64_t>(1, shape.dim(axis))};
        const Tensor x = random_tensor(shape, 5);
        check_gradients(op, reference, {x}, check);
        check_gradients(op, reference, {strided_copy(x)}, check);
      }
}

TEST(Cumsum, OfLongAxes) {
  for (const Shape& shape : {Shape{3, 700}, Shape{1, 9000}, Shape{2, 600, 7}})
    for (const CumsumOptions& options : all_options) {
      const Tensor x = random_tensor(shape, 6);
      expect_close(cumsum(x, 1, options), reference_cumsum(shape, 1, options, x.to_vector<double>()), shape[1]);
    }
}

TEST(Cumsum, IsTensorFlows) {
  const Tensor x = Tensor::from<float>({1, 2, 3}, {3});
  EXPECT_THAT(cumsum(x, 0).to_vector<float>(), ElementsAre(1, 3, 6));
  EXPECT_THAT(cumsum(x, 0, {.exclusive = true}).to_vector<float>(), ElementsAre(0, 1, 3));
  EXPECT_THAT(cumsum(x, 0, {.reverse = true}).to_vector<float>(), ElementsAre(6, 5, 3));
  EXPECT_THAT(cumsum(x, 0, {.exclusive = true, .reverse = true}).to_vector<float>(), ElementsAre(5, 3, 0));
}

TEST(Cumsum, OfBfloat16RoundsResultsOnly) {
  // A running sum of bf16 would stop growing at 2^8.
  const std::vector<float> sums = cumsum(Tensor::full({1000}, 1, DType::bf16), 0).to_vector<float>();
  EXPECT_EQ(sums[255], 256);
  EXPECT_EQ(sums[999], 1000);
}

TEST(Cumsum, NanIsInTheSumsFromThereOn) {
  const Tensor x = Tensor::from<float>({1, 2, std::nanf(""), 4, 5}, {5});
  const std::vector<float> sums = cumsum(x, 0).to_vector<float>();
  EXPECT_THAT(std::vector(sums.begin(), sums.begin() + 2), ElementsAre(1, 3));
  EXPECT_THAT(std::vector(sums.begin() + 2, sums.end()), Each(IsNan()));
  const std::vector<float> before = cumsum(x, 0, {.exclusive = true}).to_vector<float>();
  EXPECT_THAT(std::vector(before.begin(), before.begin() + 3), ElementsAre(0, 1, 3));
  EXPECT_THAT(std::vector(before.begin() + 3, before.end()), Each(IsNan()));
}

TEST(Cumsum, SameBitsOnAnyNumberOfThreads) {
  for (const Shape& shape : {Shape{700, 300, 1}, Shape{1, 50'000, 1}, Shape{2, 900, 70}, Shape{1, 40, 3000}}) {
    const Tensor x = random_tensor(shape, 11);
    const auto compute = [&](int threads) {
      const ComputeThreadsScope scope(threads);
      return cumsum(x, 1);
    };
    const Tensor first = compute(1);
    expect_same_bits(first, compute(1));
    expect_same_bits(first, compute(3));
  }
}

TEST(Cumsum, ErrorsNameAxisAndDtype) {
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range for rank 1", cumsum(Tensor::zeros({2}), 1));
  EXPECT_ERROR(InvalidArgument, "axis 0 is out of range for rank 0", cumsum(Tensor::zeros({}), 0));
  EXPECT_ERROR(InvalidArgument, "cumsum takes f32 or bf16, got i64 (2)", cumsum(Tensor::zeros({2}, DType::i64), 0));
}

}  // namespace
}  // namespace lockstep::test
