#include <gtest/gtest.h>

#include <lockstep/kernels/normalization/normalization_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

constexpr float epsilon = 1e-3F;

/// Rows of channels and their statistics, computed by the CPU's kernels.
struct Case {
  explicit Case(const Tensor& rows) : x(rows), shape(rows.shape()), channels(rows.dim(-1)) {
    kernels::run_on_cpu(kernels::ChannelMoments{x, mean, variance});
  }
  std::int64_t row_count() const { return x.elements() / channels; }

  Tensor x;
  Shape shape;
  std::int64_t channels;
  Tensor gamma = random_tensor({channels}, 2, 0.5, 1.5);
  Tensor beta = random_tensor({channels}, 3);
  Tensor mean = Tensor::empty({channels});
  Tensor variance = Tensor::empty({channels});
};

// One channel; numbers of channels that are and are not multiples of packs of four f32 or eight bf16; rows that are
// split; slices of these.
std::vector<Case> cases(DType dtype) {
  std::vector<Case> result;
  for (const Shape& shape : {Shape{1, 1}, Shape{7, 1}, Shape{9000, 1}, Shape{2, 3, 4, 5}, Shape{5, 8},
                             Shape{3, 5, 5, 36}, Shape{700, 3}, Shape{1, 64}, Shape{5003, 24}, Shape{700, 264}})
    result.emplace_back(in_dtype(dtype, random_tensor(shape, 1, -1, 3)));
  const Tensor rows = in_dtype(dtype, random_tensor({4, 3, 3, 8}, 1));
  result.emplace_back(strided_copy(rows, -1, 2, 3));
  result.emplace_back(strided_copy(rows, -1, 4, 4));
  result.emplace_back(strided_copy(rows, -1, 8, 16));
  return result;
}

class GridBatchNormOf : public testing::TestWithParam<DType> {
 protected:
  const DType dtype_ = GetParam();

  Tensor numbers(const Shape& shape, unsigned seed) const { return in_dtype(dtype_, random_tensor(shape, seed)); }
};

INSTANTIATE_TEST_SUITE_P(Real, GridBatchNormOf, testing::ValuesIn(real_dtypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(GridBatchNormOf, Moments) {
  for (const Case& c : cases(dtype_)) {
    SCOPED_TRACE(c.x.text());
    expect_near({{c.channels}, {c.channels}}, c.row_count(), [&](const Runner& run, const Results& out) {
      run(kernels::ChannelMoments{c.x, out[0], out[1]});
    });
  }
}

TEST(GridBatchNorm, MomentsOfNoRows) {
  const Tensor x = Tensor::empty({0, 3});
  expect_same_results({{3}, {3}}, [&](const Runner& run, const Results& out) {
    run(kernels::ChannelMoments{x, out[0], out[1]});
  });
}

// The mean is 10,000 standard deviations away from 0: a sum of squares in f32 would lose the variance.
TEST(GridBatchNorm, MomentsOfALargeMean) {
  const std::int64_t rows = 5000;
  const Tensor x = random_tensor({rows, 2}, 1, 9999, 10001);
  const Runner grid(Source::shared);
  const Tensor mean = Tensor::empty({2});
  const Tensor variance = Tensor::empty({2});
  grid(kernels::ChannelMoments{x, mean, variance});
  for (std::int64_t k = 0; k < 2; ++k) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += x.data<float>()[r * 2 + k];
    for (std::int64_t r = 0; r < rows; ++r) squares += std::pow(x.data<float>()[r * 2 + k] - sum / rows, 2);
    EXPECT_NEAR(mean.data<float>()[k], sum / rows, tolerance(DType::f32, 1, sum / rows));
    EXPECT_NEAR(variance.data<float>()[k], squares / rows, tolerance(DType::f32, 1, squares / rows));
  }
}

TEST(GridBatchNorm, MergedMoments) {
  const std::int64_t channels = 5;
  const Tensor parts = random_tensor({3, 2 * channels + 1}, 1, 0.5, 1.5);
  const float counts[] = {10, 0, 3};
  for (std::int64_t part = 0; part < 3; ++part) parts.data<float>()[part * parts.dim(1) + 2 * channels] = counts[part];
  expect_same_results({{channels}, {channels}}, [&](const Runner& run, const Results& out) {
    run(kernels::MergeMoments{parts, out[0], out[1]});
  });
}

TEST_P(GridBatchNormOf, Normalization) {
  for (const Case& c : cases(dtype_))
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.x.text());
      expect_same_results(dtype_, {c.shape}, [&](const Runner& run, const Results& out) {
        run(kernels::BatchNorm{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, relu, out[0]});
      });
    }
}

TEST_P(GridBatchNormOf, WritesToASlice) {
  const Case c(numbers({6, 8}, 1));
  expect_same_results(dtype_, {{6, 20}}, [&](const Runner& run, const Results& out) {
    run(kernels::BatchNorm{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, true, out[0].slice_view(1, 4, 12)});
  });
}

/// Checks both gradients for dy, with statistics that do and do not depend on x.
void expect_same_gradients(const Case& c, bool relu, const Tensor& dy) {
  expect_near({{c.channels}, {c.channels}}, c.row_count(), [&](const Runner& run, const Results& out) {
    run(kernels::BatchNormGradientSums{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, relu, dy, out[0], out[1]});
  });
  const Tensor dgamma = random_tensor({c.channels}, 5);
  const Tensor dbeta = random_tensor({c.channels}, 6);
  for (const std::int64_t count : {std::int64_t{0}, c.row_count()})
    expect_same_results(c.x.dtype(), {c.shape}, [&](const Runner& run, const Results& out) {
      run(kernels::BatchNormGradientX{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, relu, dy, dgamma, dbeta, count,
                                      out[0]});
    });
}

TEST_P(GridBatchNormOf, Gradients) {
  for (const Case& c : cases(dtype_))
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.x.text());
      const Tensor dy = numbers(c.shape, 4);
      expect_same_gradients(c, relu, dy);
      expect_same_gradients(c, relu, strided_copy(dy));
    }
}

TEST_P(GridBatchNormOf, NormalizationAndAResidual) {
  for (const Case& c : cases(dtype_))
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.x.text());
      const Tensor residual = numbers(c.shape, 4);
      expect_same_results(dtype_, {c.shape}, [&](const Runner& run, const Results& out) {
        run(kernels::BatchNorm{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, relu, out[0], residual});
      });
    }
}

TEST_P(GridBatchNormOf, GradientSumsOfAResidual) {
  for (const Case& c : cases(dtype_)) {
    SCOPED_TRACE(c.x.text());
    const Tensor dy = numbers(c.shape, 4);
    const Tensor y = numbers(c.shape, 5);  // of both signs, as no ReLU's result is
    expect_same_results(dtype_, {c.shape}, [&](const Runner& run, const Results& out) {
      const Tensor sums = Tensor::empty({2, c.channels});
      run(kernels::BatchNormGradientSums{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, true, dy,
                                         sums.slice_view(0, 0, 1), sums.slice_view(0, 1, 2), y, out[0]});
    });
    expect_near({{c.channels}, {c.channels}}, c.row_count(), [&](const Runner& run, const Results& out) {
      run(kernels::BatchNormGradientSums{c.x, c.gamma, c.beta, c.mean, c.variance, epsilon, true, dy, out[0], out[1], y,
                                         Tensor::empty(c.shape, dtype_)});
    });
  }
}

TEST_P(GridBatchNormOf, GradientSumsMissNoRow) {
  for (const Shape& shape :
       {Shape{1, 3}, Shape{255, 33}, Shape{257, 5}, Shape{2001, 1}, Shape{9001, 1}, Shape{1001, 40}})
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(shape.text());
      const Tensor x = in_dtype(dtype_, whole_numbers(shape, 1));
      const Tensor dy = in_dtype(dtype_, whole_numbers(shape, 2));
      const Tensor zero = Tensor::zeros({shape[1]});
      const Tensor one = Tensor::full({shape[1]}, 1);
      expect_same_results({{shape[1]}, {shape[1]}}, [&](const Runner& run, const Results& out) {
        run(kernels::BatchNormGradientSums{x, one, zero, zero, one, epsilon, relu, dy, out[0], out[1]});
      });
    }
}

TEST_P(GridBatchNormOf, GradientInPlaceOfX) {
  const Case c(numbers({6, 8}, 1));
  const Tensor dy = numbers({6, 8}, 2);
  expect_same(Results{c.x}, [&](const Runner& run, const Results& out) {
    run(kernels::BatchNormGradientX{out[0], c.gamma, c.beta, c.mean, c.variance, epsilon, true, dy, c.gamma, c.beta, 6,
                                    out[0]});
  });
}

}  // namespace
}  // namespace lockstep::test
