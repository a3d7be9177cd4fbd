#include <gtest/gtest.h>

#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/normalization/group_norm_kernels.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/update/update_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

// The split into parts determines the order of addition: it may depend on the shape only, and no part may be empty.
TEST(GridReduction, LongMiddleAxesAreCut) {
  EXPECT_EQ(kernels::middle_parts(1, 8191, 1), 1);
  EXPECT_EQ(kernels::middle_parts(1, 8192, 1), 2);
  EXPECT_EQ(kernels::middle_parts(1, 100'000'000, 1), 1024);
  EXPECT_EQ(kernels::middle_parts(2000, 100'000, 1), 1);
  EXPECT_EQ(kernels::middle_parts(1, 255, 64), 1);
  EXPECT_EQ(kernels::middle_parts(1, 256, 64), 2);
  EXPECT_EQ(kernels::middle_parts(1, 1'000'000, 64), 512);
}

TEST(GridReduction, SumMiddle) {
  // Rows for teams of a warp and of a block; columns with and without a rest; each with a middle axis that is split.
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 37, 1}, Shape{3, 1500, 1}, Shape{1, 20011, 1}, Shape{2, 8192, 1},
                             Shape{2, 7, 3}, Shape{1, 100, 64}, Shape{3, 33, 70}, Shape{1, 1001, 3}, Shape{2, 700, 40},
                             Shape{2, 0, 3}, Shape{4, 0, 1}, Shape{0, 5, 3}, Shape{3, 5, 0}}) {
    for (const DType from : real_dtypes)
      for (const DType to : real_dtypes) {
        SCOPED_TRACE(fmt::format("{} {} to {}", shape, name(from), name(to)));
        const Tensor x = in_dtype(from, random_tensor(shape, 1, -1, 2));
        expect_near(
            {{shape[0], shape[2]}}, 1,
            [&](const Runner& run, const Results& out) {
              run(kernels::SumMiddle{x, out[0]});
            },
            to);
      }
  }
}

TEST(GridReduction, ReduceMiddle) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 37, 1}, Shape{3, 1500, 1}, Shape{1, 20011, 1}, Shape{2, 7, 3},
                             Shape{3, 33, 70}, Shape{2, 700, 40}, Shape{2, 0, 3}, Shape{0, 5, 3}})
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::boolean})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::prod}) {
        if (op == ReduceOp::sum && !is_integer(dtype)) continue;
        if (op == ReduceOp::prod && dtype == DType::boolean) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", shape, name(dtype), static_cast<int>(op)));
        const Tensor x = in_dtype(dtype, in_dtype(DType::i32, random_tensor(shape, 1, 0, 4)));
        const Results before{Tensor::full({shape[0], shape[2]}, 1, dtype)};
        expect_same(before, [&](const Runner& run, const Results& out) { run(kernels::ReduceMiddle{op, x, out[0]}); });
      }
}

void expect_same_argmax(const Tensor& values) {
  for (const DType dtype : real_dtypes) {
    const Tensor x = in_dtype(dtype, values);
    const Results before{Tensor::full({x.dim(0)}, -1, DType::i64)};
    expect_same(before, [&](const Runner& run, const Results& out) { run(kernels::Argmax{x, false, out[0]}); });
    expect_same(before, [&](const Runner& run, const Results& out) { run(kernels::Argmax{x, true, out[0]}); });
  }
}

TEST(GridReduction, ArgmaxTakesTheFirstOfEquals) {
  for (const Shape& shape : {Shape{1, 1}, Shape{4, 7}, Shape{3, 1000}, Shape{2, 2500}}) {
    SCOPED_TRACE(shape.text());
    // Few different values, all negative: the maximum occurs many times.
    const Tensor x = Tensor::empty(shape);
    const Tensor indices = random_indices(shape.elements(), 3, 1);
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      x.data<float>()[i] = static_cast<float>(indices.data<std::int64_t>()[i]) - 5;
    expect_same_argmax(x);
  }
  const float nan = std::nanf("");
  expect_same_argmax(Tensor::from(std::vector<float>{nan, 1, 2, 1, nan, 3, nan, nan, nan}, {3, 3}));
}

TEST(GridReduction, SquaredNorm) {
  for (const std::int64_t n : {0, 1, 1000, 5000, 300'001}) {
    const Tensor x = random_tensor({n}, 1);
    const Runner grid(Source::shared);
    const double expected = kernels::run_on_cpu(kernels::SquaredNorm{x.data<float>(), n});
    // Both sources add in f64.
    const double allowed = expected * static_cast<double>(n) * std::ldexp(1.0, -52);
    EXPECT_NEAR(grid(kernels::SquaredNorm{x.data<float>(), n}), expected, allowed) << n;
  }
}

TEST(GridReduction, LimitNorms) {
  const NormLimits limits{.min_value = 0.5, .max_value = 1.5, .rate = 0.7};
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{5, 40}, Shape{900, 3}, Shape{9, 4, 6}, Shape{2, 3, 4, 5},
                             Shape{3, 3, 8, 33}, Shape{1, 5, 1, 2}, Shape{0, 3}, Shape{600, 2, 5}})
    for (const int first : {0, 1}) {
      SCOPED_TRACE(fmt::format("{} from axis {}", shape, first));
      const Results before{random_tensor(shape, 1)};
      const BothSources both(before, [&](const Runner& run, const Results& out) {
        run(kernels::LimitNorms{out[0], first, limits});
      });
      expect_close(both.grid[0], both.cpu[0].to_vector<double>());
    }
}

TEST(GridReduction, LayerNorm) {
  for (const DType dtype : real_dtypes)
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{700, 33}, Shape{2, 1500}, Shape{0, 4}}) {
      SCOPED_TRACE(fmt::format("{} {}", shape, name(dtype)));
      const std::int64_t rows = shape[0];
      const std::int64_t n = shape[1];
      const Tensor x = in_dtype(dtype, random_tensor(shape, 1, 3, 5));
      const Tensor gamma = random_tensor({n}, 2, 0.5, 1.5);
      const Tensor beta = random_tensor({n}, 3);
      const Tensor dy = in_dtype(dtype, random_tensor(shape, 4));
      const Tensor result = unwritten({shape}, dtype)[0];
      const Tensor per_row = unwritten({{rows}})[0];
      expect_near(Results{result, per_row, per_row}, n, [&](const Runner& run, const Results& out) {
        run(kernels::LayerNorm{x, gamma, beta, 1e-3F, out[0], out[1], out[2]});
      });
      const Tensor mean = Tensor::empty({rows});
      const Tensor inverse = Tensor::empty({rows});
      kernels::run_on_cpu(kernels::LayerNorm{x, gamma, beta, 1e-3F, Tensor::empty(shape, dtype), mean, inverse});
      const Tensor per_feature = unwritten({{n}})[0];
      const Results gradients{result, per_feature, per_feature};
      expect_near(gradients, std::max(rows, n), [&](const Runner& run, const Results& out) {
        run(kernels::LayerNormGradient{x, gamma, mean, inverse, dy, out[0], out[1], out[2]});
      });
      expect_near({{n}, {n}}, rows, [&](const Runner& run, const Results& out) {
        run(kernels::LayerNormGradient{x, gamma, mean, inverse, dy, Tensor(), out[0], out[1]});
      });
    }
}

void expect_group_norm_near(const Shape& shape, std::int64_t groups, DType dtype) {
  SCOPED_TRACE(fmt::format("{} {} in {} groups", name(dtype), shape, groups));
  const Shape channels{shape[2]};
  const std::int64_t rows = shape[0] * shape[1];
  const std::int64_t elements = shape[1] * shape[2] / groups;
  const Tensor x = in_dtype(dtype, random_tensor(shape, 1, 3, 5));
  const Tensor gamma = random_tensor(channels, 2, 0.5, 1.5);
  const Tensor beta = random_tensor(channels, 3);
  const Tensor dy = in_dtype(dtype, random_tensor(shape, 4));
  const Tensor result = unwritten({shape}, dtype)[0];
  const Tensor per_group = unwritten({{shape[0], groups}})[0];
  expect_near(Results{result, per_group, per_group}, elements, [&](const Runner& run, const Results& out) {
    run(kernels::GroupNorm{x, gamma, beta, 1e-3F, out[0], out[1], out[2]});
  });
  const Tensor mean = Tensor::empty(per_group.shape());
  const Tensor inverse = Tensor::empty(per_group.shape());
  kernels::run_on_cpu(kernels::GroupNorm{x, gamma, beta, 1e-3F, Tensor::empty(shape, dtype), mean, inverse});
  const Tensor per_channel = unwritten({channels})[0];
  const Results gradients{result, per_channel, per_channel};
  expect_near(gradients, std::max(rows, elements), [&](const Runner& run, const Results& out) {
    run(kernels::GroupNormGradient{x, gamma, mean, inverse, dy, out[0], out[1], out[2]});
  });
  expect_near({channels, channels}, rows, [&](const Runner& run, const Results& out) {
    run(kernels::GroupNormGradient{x, gamma, mean, inverse, dy, Tensor(), out[0], out[1]});
  });
}

TEST(GridReduction, GroupNorm) {
  for (const DType dtype : real_dtypes)
    for (const auto& [shape, groups] : {std::pair(Shape{1, 1, 1}, 1),
                                        {Shape{2, 35, 6}, 3},
                                        {Shape{3, 200, 8}, 8},
                                        {Shape{2, 3, 1200}, 4},
                                        {Shape{0, 3, 4}, 2}})
      expect_group_norm_near(shape, groups, dtype);
}

TEST(GridReduction, LayerNormGradientSumsMissNoRow) {
  for (const Shape& shape :
       {Shape{1, 3}, Shape{255, 33}, Shape{257, 5}, Shape{2001, 1}, Shape{9001, 1}, Shape{1001, 40}}) {
    SCOPED_TRACE(shape.text());
    const Tensor x = whole_numbers(shape, 1);
    const Tensor dy = whole_numbers(shape, 2);
    const Tensor gamma = Tensor::full({shape[1]}, 1);
    const Tensor mean = Tensor::zeros({shape[0]});
    const Tensor inverse = Tensor::full({shape[0]}, 1);
    expect_same_results({{shape[1]}, {shape[1]}}, [&](const Runner& run, const Results& out) {
      run(kernels::LayerNormGradient{x, gamma, mean, inverse, dy, Tensor(), out[0], out[1]});
    });
  }
}

}  // namespace
}  // namespace lockstep::test
