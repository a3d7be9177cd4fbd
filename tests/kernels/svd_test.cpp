#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/linear_algebra/svd.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

/// Checks that the factors of one matrix are what the names say.
void expect_decomposition(const Tensor& x, const Svd& f) {
  const std::int64_t k = f.s.dim(0);
  expect_close(matmul(f.u * f.s, f.vh), x.to_vector<double>(), k);
  const std::vector<double> identity = eye(k).to_vector<double>();
  expect_close(matmul(swapaxes(f.u, 0, 1), f.u), identity, x.dim(0));
  expect_close(matmul(f.vh, swapaxes(f.vh, 0, 1)), identity, x.dim(1));
  const std::vector<float> values = f.s.to_vector<float>();
  EXPECT_TRUE(std::ranges::is_sorted(values, std::greater()));
}

TEST(Svd, HasOrthonormalFactorsAndValuesInOrder) {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{1, 5}, Shape{5, 1}, Shape{3, 3}, Shape{40, 30}, Shape{30, 40}, Shape{1500, 3}}) {
    SCOPED_TRACE(shape.text());
    const Tensor x = random_tensor(shape, 1);
    expect_decomposition(x, svd(x));
  }
}

TEST(Svd, FindsValuesOfVeryDifferentSizes) {
  std::vector<float> hilbert;
  for (int i = 0; i < 64; ++i) hilbert.push_back(1.0F / static_cast<float>(i / 8 + i % 8 + 1));
  const Tensor x = Tensor::from(hilbert, {8, 8});
  expect_decomposition(x, svd(x));
  const Tensor scales = Tensor::from<float>({1e-15F, 1, 1e15F}, {3});
  const std::vector<float> values = svd(eye(3) * scales).s.to_vector<float>();
  EXPECT_THAT(values, ElementsAre(1e15F, 1, 1e-15F));
}

TEST(Svd, OfAMatrixOfRankOneHasZerosInU) {
  const Tensor x = Tensor::from<float>({0, 3, 0, -4, 0, 0}, {3, 2});
  const Svd f = svd(x);
  EXPECT_THAT(f.s.to_vector<float>(), ElementsAre(5, 0));
  EXPECT_THAT(abs(f.u).to_vector<float>(), ElementsAre(0.6F, 0, 0.8F, 0, 0, 0));
  EXPECT_THAT(abs(f.vh).to_vector<float>(), ElementsAre(0, 1, 1, 0));
}

TEST(Svd, HasZerosInUWhereValuesVanish) {
  for (std::int64_t n = 2; n < 10; ++n) {
    const Svd f = svd(Tensor::full({n, n}, 1));
    const std::vector<float> values = f.s.to_vector<float>();
    const std::vector<float> u = f.u.to_vector<float>();
    for (std::size_t i = 0; i < u.size(); ++i) EXPECT_TRUE(values[i % values.size()] != 0 || u[i] == 0) << n;
  }
}

TEST(Svd, OfNoElementsOrNanOrInfinity) {
  EXPECT_EQ(svd(Tensor::zeros({0, 3, 2})).s.shape(), (Shape{0, 2}));
  EXPECT_EQ(svd(Tensor::zeros({2, 3, 0})).u.shape(), (Shape{2, 3, 0}));
  EXPECT_EQ(svd(Tensor::zeros({0, 3})).vh.shape(), (Shape{0, 3}));
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()})
    for (const std::size_t place : {0, 4, 11})
      for (const Shape& shape : {Shape{4, 3}, Shape{3, 4}}) {
        std::vector<float> elements(12, 1);
        elements[place] = bad;
        const Svd f = svd(Tensor::from(elements, shape));
        for (const Tensor& factor : {f.u, f.s, f.vh}) EXPECT_THAT(factor.to_vector<float>(), Each(IsNan())) << place;
      }
}

TEST(Svd, OfEqualValuesHasTheGradientOfTheValues) {
  const Tensor x = eye(3) * 2.0;
  GradientTape tape;
  tape.watch(x);
  expect_close(tape.gradient(sum(svd(x).s), std::array{x})[0], eye(3).to_vector<double>());
}

TEST(Svd, NeedsMatrices) {
  EXPECT_ERROR(InvalidArgument, "svd takes matrices (..., rows, columns), got f32 (3)", svd(Tensor::zeros({3})));
}

}  // namespace
}  // namespace lockstep::test
