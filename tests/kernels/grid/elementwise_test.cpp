#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

#include <gtest/gtest.h>

#include <lockstep/kernels/array/unary.h>
#include <lockstep/kernels/elementwise/comparison_kernels.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/losses/losses_kernels.h>
#include <lockstep/kernels/random/random_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

// For loops over packs of four f32 or eight bf16: no element, part of a pack, whole packs, and packs with a rest.
const std::vector<std::int64_t> sizes{0, 1, 3, 4, 7, 1000, 1027};

template <class F>
F with_parameters() {
  if constexpr (std::is_empty_v<F>)
    return F{};
  else if constexpr (sizeof(F) == sizeof(float))
    return F{0.3F};
  else
    return F{0.3F, 1.7F};
}

template <class... F>
std::vector<UnaryFunction> unary_functions(std::type_identity<std::variant<F...>>) {
  return {with_parameters<F>()...};
}

/// A dense copy at an address where packs cannot be read.
Tensor off_by_one(const Tensor& x) {
  const Tensor wide = Tensor::zeros({x.elements() + 1}, x.dtype());
  const Tensor part = wide.slice_view(0, 1, x.elements() + 1).view(x.shape());
  copy(x, part);
  return part;
}

class GridElementwiseOf : public testing::TestWithParam<DType> {
 protected:
  const DType dtype_ = GetParam();

  Tensor numbers(const Shape& shape, unsigned seed, double low = -1, double high = 1) const {
    return in_dtype(dtype_, random_tensor(shape, seed, low, high));
  }
};

INSTANTIATE_TEST_SUITE_P(Real, GridElementwiseOf, testing::ValuesIn(real_dtypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(GridElementwiseOf, UnaryFunctionsAndGradients) {
  for (const std::int64_t n : sizes)
    for (const UnaryFunction& f : unary_functions(std::type_identity<UnaryFunction>())) {
      SCOPED_TRACE(fmt::format("{} of {} elements", info_of(f).name, n));
      const Tensor x = numbers({n}, 1, 0.1, 3);
      const Tensor dy = numbers({n}, 2);
      expect_same_results(dtype_, {{n}}, [&](const Runner& run, const Results& out) {
        run(kernels::Unary{f, x, out[0]});
      });
      expect_same_results(dtype_, {{n}}, [&](const Runner& run, const Results& out) {
        run(kernels::UnaryGradient{f, x, dy, out[0]});
      });
    }
}

TEST_P(GridElementwiseOf, OperandsThatAreNotAligned) {
  const Tensor a = off_by_one(numbers({131}, 1));
  const Tensor b = numbers({131}, 2);
  expect_same_results(dtype_, {{131}}, [&](const Runner& run, const Results& out) {
    run(kernels::Unary{functor::Exp{}, a, out[0]});
  });
  expect_same_results(dtype_, {{131}}, [&](const Runner& run, const Results& out) {
    run(kernels::Binary{BinaryOp::subtract, b, a, out[0]});
  });
}

TEST_P(GridElementwiseOf, BinaryOfAnyStrides) {
  const Shape shape{3, 1, 5, 4};
  const std::vector<Tensor> operands{numbers(shape, 1, 1, 2),
                                     strided_copy(numbers(shape, 2, 1, 2)),
                                     strided_copy(numbers(shape, 3, 1, 2), 2),
                                     numbers({4}, 4, 1, 2).broadcast_view(shape),
                                     numbers({3, 1, 1, 1}, 5, 1, 2).broadcast_view(shape),
                                     numbers({1}, 6, 1, 2).broadcast_view(shape)};
  for (int op = 0; op <= static_cast<int>(BinaryOp::mod); ++op)
    for (const Tensor& a : operands)
      for (const Tensor& b : operands)
        expect_same_results(dtype_, {shape}, [&](const Runner& run, const Results& out) {
          run(kernels::Binary{static_cast<BinaryOp>(op), a, b, out[0]});
        });
  for (const BinaryOp op : {BinaryOp::maximum, BinaryOp::minimum, BinaryOp::power, BinaryOp::squared_difference,
                            BinaryOp::floor_divide, BinaryOp::mod})
    for (const bool of_first : {false, true})
      for (const Tensor& a : operands)
        for (const Tensor& dy : operands)
          expect_same_results(dtype_, {shape}, [&](const Runner& run, const Results& out) {
            run(kernels::BinaryGradient{op, of_first, a, operands[0], dy, out[0]});
          });
  for (const Tensor& x : {Tensor::empty({3, 0}, dtype_), Tensor::full({}, 2, dtype_)})
    expect_same_results(dtype_, {x.shape()}, [&](const Runner& run, const Results& out) {
      run(kernels::Binary{BinaryOp::add, x, x, out[0]});
    });
}

TEST_P(GridElementwiseOf, AffineAndFill) {
  for (const std::int64_t n : sizes) {
    const Tensor x = numbers({n}, 1);
    expect_same_results(dtype_, {{n}}, [&](const Runner& run, const Results& out) {
      run(kernels::Affine{x, 1.7F, -0.3F, out[0]});
    });
    expect_same_results(dtype_, {{n}}, [&](const Runner& run, const Results& out) {
      run(kernels::Fill{out[0], 4.7F});
    });
  }
}

TEST_P(GridElementwiseOf, Dropout) {
  for (const std::int64_t n : sizes) {
    const Tensor x = numbers({n}, 1, 1, 2);
    const RandomKey key{.seed = 3, .stream = 5, .replica = 1, .step = 7};
    expect_same_results(dtype_, {{n}}, [&](const Runner& run, const Results& out) {
      run(kernels::Dropout{x, 0.4F, key, out[0]});
    });
  }
}

TEST(GridElementwise, ClearsRanges) {
  const Tensor x = Tensor::full({30000}, 7);
  kernels::Clear clear;
  std::vector<float> expected(30000, 7);
  std::int64_t begin = 1;
  for (const std::int64_t n : {1, 0, 4096, 64, 4097, 9000, 0}) {
    clear.ranges.push_back({x.data<float>() + begin, n});
    std::fill_n(expected.begin() + begin, n, 0);
    begin += n + 1;
  }
  const Runner run(Source::shared);
  run(clear);
  EXPECT_EQ(x.to_vector<float>(), expected);
}

TEST(GridElementwise, MovingAverages) {
  kernels::MovingAverages all;
  Results averages;
  Results values;
  std::vector<std::vector<float>> expected;
  for (const std::int64_t n : {1, 0, 4096, 64, 4097, 9000, 0}) {
    const float momentum = 0.1F * static_cast<float>(averages.size());
    averages.push_back(random_tensor({n}, 1));
    values.push_back(random_tensor({n}, 2));
    all.averages.push_back({averages.back().data<float>(), values.back().data<float>(), n, momentum});
    expected.emplace_back();
    for (std::int64_t i = 0; i < n; ++i)
      expected.back().push_back(averages.back().data<float>()[i] * momentum +
                                values.back().data<float>()[i] * (1 - momentum));
  }
  const Runner run(Source::shared);
  run(all);
  for (std::size_t i = 0; i < averages.size(); ++i) EXPECT_EQ(averages[i].to_vector<float>(), expected[i]) << i;
}

const std::vector<DType> dtypes{DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean};

TEST(GridElementwise, ConvertsAllTypesAtAnyStrides) {
  const Tensor x = random_tensor({6, 5}, 1, 0, 200);
  for (const DType from : dtypes)
    for (const DType to : dtypes) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      const Tensor source = in_dtype(from, x);
      const Results before{Tensor::full({6, 3}, 1, to)};
      for (const Tensor& view : {source.slice_view(1, 1, 4), source.slice_view(0, 2, 3).slice_view(1, 0, 3)})
        expect_same(before, [&](const Runner& run, const Results& out) {
          run(kernels::Convert{view.broadcast_view({6, 3}), out[0]});
        });
      const Results wide{Tensor::full({6, 9}, 1, to)};
      expect_same(wide, [&](const Runner& run, const Results& out) {
        run(kernels::Convert{source, out[0].slice_view(1, 2, 7)});
      });
    }
}

TEST(GridElementwise, BinaryOfIntegers) {
  for (const DType dtype : {DType::i32, DType::i64, DType::u8}) {
    const auto numbers = [&](const Shape& shape, unsigned seed) {
      return in_dtype(dtype, in_dtype(DType::i32, random_tensor(shape, seed, -1e9, 1e9)));
    };
    const Tensor a = numbers({3, 5, 4}, 1);
    const Tensor large = numbers({5, 1}, 2).broadcast_view({3, 5, 4});
    const Tensor small = in_dtype(dtype, Tensor::from<int>({-7, -1, 0, 3, 70}, {5, 1})).broadcast_view({3, 5, 4});
    for (int op = 0; op <= static_cast<int>(BinaryOp::mod); ++op)
      for (const Tensor& b : {large, small}) {
        if (static_cast<BinaryOp>(op) == BinaryOp::divide) continue;
        expect_same(Results{Tensor::full({3, 5, 4}, 1, dtype)}, [&](const Runner& run, const Results& out) {
          run(kernels::Binary{static_cast<BinaryOp>(op), a, b, out[0]});
        });
      }
  }
}

TEST(GridElementwise, FillsAllTypes) {
  for (const DType dtype : dtypes)
    expect_same(Results{Tensor::zeros({1027}, dtype)}, [&](const Runner& run, const Results& out) {
      run(kernels::Fill{out[0], 1});
    });
}

TEST(GridElementwise, ComparesAndSelectsAllTypesAtAnyStrides) {
  const Shape shape{6, 67};
  for (const DType dtype : dtypes) {
    const auto operands = [&](unsigned seed) {
      const auto few_numbers = [&](const Shape& of) {
        return in_dtype(dtype, in_dtype(DType::i32, random_tensor(of, seed, 0, 4)));
      };
      return std::vector<Tensor>{few_numbers(shape), few_numbers({6, 80}).slice_view(1, 1, 68),
                                 few_numbers({67, 6}).transposed_view(), few_numbers({6, 1}).broadcast_view(shape)};
    };
    for (const Tensor& a : operands(1))
      for (const Tensor& b : operands(2)) {
        for (int op = 0; op <= static_cast<int>(ComparisonOp::logical_xor); ++op)
          expect_same(Results{Tensor::full(shape, 1, DType::boolean)}, [&](const Runner& run, const Results& out) {
            run(kernels::Compare{static_cast<ComparisonOp>(op), a, b, out[0]});
          });
        for (const Shape& chosen : {shape, Shape{6, 1}, Shape{67}}) {
          const Tensor condition = in_dtype(DType::boolean, whole_numbers(chosen, 3)).broadcast_view(shape);
          expect_same(Results{Tensor::full(shape, 1, dtype)}, [&](const Runner& run, const Results& out) {
            run(kernels::Select{condition, a, b, out[0]});
          });
        }
      }
  }
}

TEST_P(GridElementwiseOf, FitMatrixCutsOrAddsZeros) {
  const Runner shared(Source::shared);
  for (const std::int64_t columns : {1, 3, 6, 12, 16, 24})
    for (const std::int64_t fitted : {1, 2, 7, 12, 16, 32})
      for (const std::int64_t rows : {3, 5}) {
        SCOPED_TRACE(fmt::format("(5, {}) to ({}, {})", columns, rows, fitted));
        const Tensor x = numbers({5, columns}, 1);
        const std::int64_t common = std::min(columns, fitted);
        const Tensor expected = Tensor::zeros({rows, fitted}, dtype_);
        kernels::run_on_cpu(
            kernels::Convert{x.slice_view(0, 0, rows).slice_view(1, 0, common), expected.slice_view(1, 0, common)});
        for (const Tensor& source : {x, off_by_one(x)}) {
          const Tensor y = unwritten({{rows, fitted}}, dtype_)[0];
          shared(kernels::FitMatrix{source, y});
          expect_same_bits(y, expected);
        }
        const Tensor taller = unwritten({{7, fitted}}, dtype_)[0];
        shared(kernels::FitMatrix{x, taller});
        expect_same_bits(taller.slice_view(0, 5, 7), Tensor::zeros({2, fitted}, dtype_));
      }
}

TEST(GridElementwise, ConvertsAllTypesWhereAllIsDense) {
  for (const std::int64_t n : sizes)
    for (const DType from : dtypes)
      for (const DType to : dtypes) {
        SCOPED_TRACE(fmt::format("{} {} to {}", n, name(from), name(to)));
        const Tensor x = in_dtype(from, random_tensor({n}, 1, 0, 200));
        for (const Tensor& source : {x, off_by_one(x)})
          expect_same(Results{Tensor::full({n}, 1, to)}, [&](const Runner& run, const Results& out) {
            run(kernels::Convert{source, out[0]});
          });
      }
}

// The largest f32 become infinite in bf16, and NaN stays NaN.
TEST(GridElementwise, RoundsWhatBf16DoesNotHave) {
  const float most = std::numeric_limits<float>::max();
  const Tensor x = Tensor::from(std::vector<float>{most, -most, std::nanf(""), 1.00390625F, 1.01171875F, 1e-40F}, {6});
  const Results before{Tensor::full({6}, 1, DType::bf16)};
  expect_same(before, [&](const Runner& run, const Results& out) { run(kernels::Convert{x, out[0]}); });
  const Tensor y = Tensor::empty({6}, DType::bf16);
  const Runner shared(Source::shared);
  shared(kernels::Convert{x, y});
  const std::vector<float> rounded = y.to_vector<float>();
  EXPECT_EQ(rounded[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rounded[2]));
  EXPECT_EQ(rounded[3], 1.0F);       // halfway: rounds to even
  EXPECT_EQ(rounded[4], 1.015625F);  // halfway: rounds to even
}

TEST(GridElementwise, AccumulatesTypesThatCanBeSummed) {
  const Tensor x = random_tensor({6, 5}, 1, -100, 100);
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64})
    for (const BinaryOp op : {BinaryOp::add, BinaryOp::subtract}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(op), name(dtype)));
      const Tensor terms = in_dtype(dtype, x);
      const Results before{in_dtype(dtype, random_tensor({6, 5}, 2, -100, 100))};
      expect_same(before, [&](const Runner& run, const Results& out) {
        run(kernels::Binary{op, out[0], terms, out[0]});
      });
      const Tensor row = terms.slice_view(0, 3, 4).broadcast_view({6, 5});
      expect_same(before, [&](const Runner& run, const Results& out) {
        run(kernels::Binary{op, out[0], row, out[0]});
      });
    }
}

TEST(GridElementwise, BinaryCrossEntropy) {
  for (const bool from_logits : {true, false})
    for (const std::int64_t n : sizes) {
      const Tensor x = from_logits ? random_tensor({n}, 1, -5, 5) : random_tensor({n}, 1, -0.1, 1.1);
      const Tensor targets = random_tensor({n}, 2, 0, 1);
      const Tensor dloss = random_tensor({n}, 3);
      expect_same_results({{n}}, [&](const Runner& run, const Results& out) {
        run(kernels::BinaryCrossEntropy{from_logits, x, targets, out[0]});
      });
      expect_same_results({{n}}, [&](const Runner& run, const Results& out) {
        run(kernels::BinaryCrossEntropyGradient{from_logits, x, targets, dloss, out[0]});
      });
    }
}

}  // namespace
}  // namespace lockstep::test
