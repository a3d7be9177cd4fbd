#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/update/norm_limits.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

Tensor limited(const Tensor& x, const std::vector<int>& axes, const NormLimits& limits) {
  const Tensor result = Tensor::from(x.to_vector<float>(), x.shape());
  limit_norms(result, axes, limits);
  return result;
}

/// The number of the vector to which each element of a dense tensor belongs.
std::vector<std::int64_t> vectors_of(const Shape& shape, const std::vector<int>& axes) {
  Shape kept = shape;
  for (const int axis : axes) kept[shape.normalize_axis(axis)] = 1;
  std::vector<std::int64_t> vectors;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    std::int64_t vector = 0;
    std::int64_t rest = i;
    std::int64_t stride = 1;
    for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis]) {
      if (kept[axis] == 1) continue;
      vector += rest % shape[axis] * stride;
      stride *= shape[axis];
    }
    vectors.push_back(vector);
  }
  return vectors;
}

std::map<std::int64_t, double> norms_of(const std::vector<double>& x, const std::vector<std::int64_t>& vectors) {
  std::map<std::int64_t, double> norms;
  for (std::size_t i = 0; i < x.size(); ++i) norms[vectors[i]] += x[i] * x[i];
  for (auto& [vector, norm] : norms) norm = std::sqrt(norm);
  return norms;
}

std::vector<double> plain_limited(const Tensor& x, const std::vector<int>& axes, const NormLimits& limits) {
  const std::vector<std::int64_t> vectors = vectors_of(x.shape(), axes);
  std::vector<double> values = x.to_vector<double>();
  auto norms = norms_of(values, vectors);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double norm = norms[vectors[i]];
    const double wanted = limits.rate * std::clamp(norm, limits.min_value, limits.max_value) + (1 - limits.rate) * norm;
    values[i] *= wanted / (1e-7 + norm);
  }
  return values;
}

struct Case {
  Shape shape;
  std::vector<int> axes;
};

/// Vectors along all combinations of axes, contiguous and strided; more of them than are processed together; some with
/// one element.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{{{7}, {0}},
                                     {{7, 5}, {0}},
                                     {{7, 5}, {1}},
                                     {{7, 5}, {}},
                                     {{7, 5}, {-1, 0}},
                                     {{7, 1}, {1}},
                                     {{1, 1}, {0}},
                                     {{3, 2, 4, 6}, {0, 1, 2}},
                                     {{3, 2, 4, 6}, {1, 3}},
                                     {{3, 2, 4, 6}, {0, -2}},
                                     {{40, 1300}, {0}},
                                     {{1300, 40}, {1}},
                                     {{3, 5, 700}, {1}},
                                     {{0, 3}, {0}},
                                     {{2, 3, 2, 3, 2, 3}, {0, 2, 4}}};
  return all;
}

TEST(LimitNorms, EqualsPlainLoops) {
  const NormLimits all_limits[] = {
      {}, {.min_value = 1, .max_value = 1}, {.min_value = 0.5, .max_value = 3, .rate = 0.25}};
  for (const auto& [shape, axes] : cases())
    for (const NormLimits& limits : all_limits) {
      SCOPED_TRACE(fmt::format("{} along {} axes, rate {}", shape, axes.size(), limits.rate));
      const Tensor x = random_tensor(shape, 1, -2, 2);
      // Squares and roots are computed in f64; only one factor and one product are rounded to f32.
      expect_close(limited(x, axes, limits), plain_limited(x, axes, limits));
    }
}

TEST(LimitNorms, SameBitsOnAnyNumberOfThreads) {
  for (const auto& [shape, axes] :
       std::vector<Case>{{{300, 1300}, {0}}, {{1300, 300}, {1}}, {{9, 8, 70, 64}, {0, 2}}}) {
    const Tensor x = random_tensor(shape, 2);
    const auto on = [&](int threads) {
      const ComputeThreadsScope scope(threads);
      return limited(x, axes, {.max_value = 0.5});
    };
    expect_same_bits(on(1), on(2));
    expect_same_bits(on(1), on(3));
  }
}

TEST(LimitNorms, OfZerosAreZeroAndOfNanNan) {
  const Tensor x = Tensor::from<float>({0, 3, std::nanf(""), 0, 4, 1}, {2, 3});
  limit_norms(x, {0}, {.min_value = 1, .max_value = 1});
  const std::vector<float> values = x.to_vector<float>();
  EXPECT_THAT((std::vector{values[0], values[3]}), testing::Each(0.0F));
  EXPECT_THAT((std::vector{values[2], values[5]}), testing::Each(testing::IsNan()));
  EXPECT_NEAR(values[1], 0.6, tolerance(DType::f32, 1, 0.6));
  EXPECT_NEAR(values[4], 0.8, tolerance(DType::f32, 1, 0.8));
}

TEST(LimitNorms, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "limit_norms takes f32, got i64 (2)",
               limit_norms(Tensor::zeros({2}, DType::i64), {0}, {}));
  EXPECT_ERROR(InvalidArgument, "works in place, on dense tensors",
               limit_norms(strided_copy(Tensor::zeros({2, 3})), {0}, {}));
  EXPECT_ERROR(InvalidArgument, "axis 2 is out of range for rank 2", limit_norms(Tensor::zeros({2, 3}), {2}, {}));
  EXPECT_ERROR(InvalidArgument, "axis -2 of shape (2, 3) is given twice",
               limit_norms(Tensor::zeros({2, 3}), {0, -2}, {}));
}

}  // namespace
}  // namespace lockstep::test
