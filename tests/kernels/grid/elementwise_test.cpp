#include <gtest/gtest.h>

#include "parity.h"

namespace lockstep::test {
namespace {

// Of the loops over four elements: none, a part of one, whole ones and a rest.
const std::vector<std::int64_t> sizes{0, 1, 3, 4, 7, 1000, 1027};

std::vector<UnaryFunction> unary_functions() {
  std::vector<UnaryFunction> result;
  for (int op = 0; op <= static_cast<int>(UnaryOp::tanh); ++op) result.emplace_back(static_cast<UnaryOp>(op), 0.3F);
  return result;
}

/// Dense, but not where four elements can be read at once.
Tensor off_by_one(const Tensor& x) {
  const Tensor wide = Tensor::zeros({x.elements() + 1});
  const Tensor part = wide.slice_view(0, 1, x.elements() + 1);
  copy(x, part);
  return part;
}

TEST(GridElementwise, UnaryFunctionsAndGradients) {
  for (const std::int64_t n : sizes)
    for (const UnaryFunction& f : unary_functions()) {
      SCOPED_TRACE(fmt::format("op {} of {} elements", static_cast<int>(f.op), n));
      const Tensor x = random_tensor({n}, 1, 0.1, 3);
      const Tensor dy = random_tensor({n}, 2);
      expect_same_results({{n}}, [&](Backend& b, const Results& out) { b.unary(f, x, out[0]); });
      expect_same_results({{n}}, [&](Backend& b, const Results& out) { b.unary_gradient(f, x, dy, out[0]); });
    }
}

TEST(GridElementwise, OperandsThatAreNotAligned) {
  const Tensor a = off_by_one(random_tensor({131}, 1));
  const Tensor b = random_tensor({131}, 2);
  expect_same_results({{131}}, [&](Backend& table, const Results& out) { table.unary(UnaryOp::exp, a, out[0]); });
  expect_same_results({{131}},
                      [&](Backend& table, const Results& out) { table.binary(BinaryOp::subtract, b, a, out[0]); });
}

TEST(GridElementwise, BinaryOfAnyStrides) {
  const Shape shape{3, 1, 5, 4};
  const std::vector<Tensor> operands{random_tensor(shape, 1, 1, 2),
                                     strided_copy(random_tensor(shape, 2, 1, 2)),
                                     strided_copy(random_tensor(shape, 3, 1, 2), 2),
                                     random_tensor({4}, 4, 1, 2).broadcast_view(shape),
                                     random_tensor({3, 1, 1, 1}, 5, 1, 2).broadcast_view(shape),
                                     random_tensor({1}, 6, 1, 2).broadcast_view(shape)};
  for (int op = 0; op <= static_cast<int>(BinaryOp::divide); ++op)
    for (const Tensor& a : operands)
      for (const Tensor& b : operands)
        expect_same_results({shape}, [&](Backend& table, const Results& out) {
          table.binary(static_cast<BinaryOp>(op), a, b, out[0]);
        });
  const Tensor none = Tensor::empty({3, 0});
  expect_same_results({{3, 0}},
                      [&](Backend& table, const Results& out) { table.binary(BinaryOp::add, none, none, out[0]); });
  const Tensor one = Tensor::scalar(2.0F);
  expect_same_results({Shape{}},
                      [&](Backend& table, const Results& out) { table.binary(BinaryOp::add, one, one, out[0]); });
}

TEST(GridElementwise, AffineFillMovingAverage) {
  for (const std::int64_t n : sizes) {
    const Tensor x = random_tensor({n}, 1);
    expect_same_results({{n}}, [&](Backend& b, const Results& out) { b.affine(x, 1.7F, -0.3F, out[0]); });
    expect_same_results({{n}}, [&](Backend& b, const Results& out) { b.fill(out[0], 4.5F); });
    expect_same(Results{random_tensor({n}, 2)},
                [&](Backend& b, const Results& out) { b.moving_average(out[0], x, 0.9F); });
  }
}

/// x in another dtype, by the CPU's table.
Tensor as(DType dtype, const Tensor& x) {
  const Tensor y = Tensor::empty(x.shape(), dtype);
  CpuBackend().convert(x, y);
  return y;
}

const std::vector<DType> dtypes{DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8};

TEST(GridElementwise, ConvertsAllTypesAtAnyStrides) {
  const Tensor x = random_tensor({6, 5}, 1, 0, 200);
  for (const DType from : dtypes)
    for (const DType to : dtypes) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      const Tensor source = as(from, x);
      const Results before{Tensor::full({6, 3}, 1, to)};
      for (const Tensor& view : {source.slice_view(1, 1, 4), source.slice_view(0, 2, 3).slice_view(1, 0, 3)})
        expect_same(before, [&](Backend& b, const Results& out) { b.convert(view.broadcast_view({6, 3}), out[0]); });
      const Results wide{Tensor::full({6, 9}, 1, to)};
      expect_same(wide, [&](Backend& b, const Results& out) { b.convert(source, out[0].slice_view(1, 2, 7)); });
    }
}

TEST(GridElementwise, AccumulatesTypesThatCanBeSummed) {
  const Tensor x = random_tensor({6, 5}, 1, -100, 100);
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64})
    for (const int sign : {1, -1}) {
      SCOPED_TRACE(fmt::format("{} {}", sign, name(dtype)));
      const Tensor terms = as(dtype, x);
      const Results before{as(dtype, random_tensor({6, 5}, 2, -100, 100))};
      expect_same(before, [&](Backend& b, const Results& out) { b.accumulate(terms, sign, out[0]); });
      const Tensor row = terms.slice_view(0, 3, 4).broadcast_view({6, 5});
      expect_same(before, [&](Backend& b, const Results& out) { b.accumulate(row, sign, out[0]); });
    }
}

TEST(GridElementwise, Dropout) {
  for (const std::int64_t n : sizes) {
    const Tensor x = random_tensor({n}, 1, 1, 2);
    const RandomKey key{.seed = 3, .stream = 5, .replica = 1, .step = 7};
    expect_same_results({{n}}, [&](Backend& b, const Results& out) { b.dropout(x, 0.4F, key, out[0]); });
  }
}

TEST(GridElementwise, BinaryCrossEntropy) {
  for (const bool from_logits : {true, false})
    for (const std::int64_t n : sizes) {
      const Tensor x = from_logits ? random_tensor({n}, 1, -5, 5) : random_tensor({n}, 1, -0.1, 1.1);
      const Tensor targets = random_tensor({n}, 2, 0, 1);
      const Tensor dloss = random_tensor({n}, 3);
      expect_same_results(
          {{n}}, [&](Backend& b, const Results& out) { b.binary_cross_entropy(from_logits, x, targets, out[0]); });
      expect_same_results({{n}}, [&](Backend& b, const Results& out) {
        b.binary_cross_entropy_gradient(from_logits, x, targets, dloss, out[0]);
      });
    }
}

}  // namespace
}  // namespace lockstep::test
