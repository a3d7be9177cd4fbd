#include <array>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

Tensor ids_of(const std::vector<std::int64_t>& ids) {
  return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())});
}

TEST(EmbeddingLookupOp, TakesIdsOfAnyShapeAndIntegerType) {
  const Tensor table = random_tensor({6, 2, 3}, 1);
  const Tensor ids = ids_of({0, 5, 5, 1, 2, 3});
  const Tensor expected = embedding_lookup(table, ids);
  EXPECT_EQ(expected.shape(), Shape({6, 2, 3}));
  expect_same_bits(expected.slice_view(0, 1, 2), table.slice_view(0, 5, 6));
  const Tensor matrix = embedding_lookup(table, ids.view({2, 3}));
  EXPECT_EQ(matrix.shape(), Shape({2, 3, 2, 3}));
  expect_same_bits(matrix.view({6, 2, 3}), expected);
  for (const DType dtype : {DType::i32, DType::u8})
    expect_same_bits(embedding_lookup(table, cast(ids, dtype)), expected);
  const Tensor column = ids.view({2, 3}).slice_view(1, 1, 2);
  expect_same_bits(embedding_lookup(table, column), embedding_lookup(table, ids_of({5, 2}).view({2, 1})));
  EXPECT_EQ(embedding_lookup(table, Tensor::scalar<std::int64_t>(4)).shape(), Shape({2, 3}));
}

// A running bf16 sum of ones would stop growing at 256.
TEST(EmbeddingLookupOp, ItsGradientOfBfloat16IsRoundedOnce) {
  const Tensor table = cast(random_tensor({3, 2}, 1), DType::bf16);
  GradientTape tape;
  tape.watch(table);
  const Tensor rows = embedding_lookup(table, ids_of(std::vector<std::int64_t>(1000, 1)));
  const Tensor gradient = tape.gradient(sum(rows, {0}), std::span(&table, 1)).front();
  EXPECT_EQ(gradient.dtype(), DType::bf16);
  EXPECT_EQ(gradient.to_vector<double>(), (std::vector<double>{0, 0, 1000, 1000, 0, 0}));
}

TEST(EmbeddingLookupOp, RefusesWhatIsNoIdOfTheTable) {
  const Tensor table = random_tensor({6, 2}, 1);
  EXPECT_ERROR(InvalidArgument, "id 6 at place 1 is outside the 6 rows", embedding_lookup(table, ids_of({0, 6})));
  EXPECT_ERROR(InvalidArgument, "id -1 at place 0", embedding_lookup(table, ids_of({-1, 0})));
  EXPECT_ERROR(InvalidArgument, "ids of i64, i32 or u8, got f32 (2)", embedding_lookup(table, Tensor::zeros({2})));
  EXPECT_ERROR(InvalidArgument, "takes f32 or bf16, got i64", embedding_lookup(ids_of({1}), ids_of({0})));
  EXPECT_ERROR(InvalidArgument, "a table of rows", embedding_lookup(Tensor::scalar(1.0F), ids_of({0})));
}

// The gradient of rows: IndexedSlices where they are taken.

class RowGradient : public testing::Test {
 protected:
  const Tensor table_ = random_tensor({5, 2}, 1).as_parameter();
  const Tensor weights_ = random_tensor({3, 2}, 2);
  const Tensor ids_ = ids_of({4, 1, 4});

  Tensor looked_up() const { return sum(embedding_lookup(table_, ids_) * weights_); }
  DenseOrSparse gradient(GradientTape& tape, const Tensor& target) const {
    return tape.gradient_or_slices(target, std::array{table_}).front();
  }
};

TEST_F(RowGradient, StaysRows) {
  GradientTape tape;
  const Tensor loss = looked_up();
  EXPECT_TRUE(tape.only_rows_read(table_));
  const IndexedSlices rows = std::get<IndexedSlices>(gradient(tape, loss));
  expect_same_bits(rows.values, weights_);
  EXPECT_EQ(rows.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{4, 1, 4}));
  EXPECT_EQ(rows.dense_shape, Shape({5, 2}));
}

TEST_F(RowGradient, JoinsTheRowsOfSeveralLookups) {
  GradientTape tape;
  const Tensor loss = looked_up() + sum(embedding_lookup(table_, ids_of({0})));
  const IndexedSlices rows = std::get<IndexedSlices>(gradient(tape, loss));
  EXPECT_EQ(rows.indices.elements(), 4);
  const Tensor expected = to_dense({weights_, ids_, {5, 2}}) + to_dense({Tensor::full({1, 2}, 1), ids_of({0}), {5, 2}});
  expect_same_bits(to_dense(rows), expected);
}

TEST_F(RowGradient, BecomesDenseWhereTheTableIsReadAsAWholeToo) {
  const Tensor expected = to_dense({weights_, ids_, {5, 2}}) + 1.0;
  for (const bool rows_first : {true, false}) {
    GradientTape tape;
    const Tensor first = rows_first ? looked_up() : sum(table_);
    const Tensor loss = first + (rows_first ? sum(table_) : looked_up());
    EXPECT_FALSE(tape.only_rows_read(table_));
    expect_close(std::get<Tensor>(gradient(tape, loss)), expected.to_vector<double>(), 4);
  }
}

TEST_F(RowGradient, IsDenseForCallersOfGradientAndForComputedTables) {
  {
    GradientTape tape;
    const Tensor loss = looked_up();
    expect_same_bits(tape.gradient(loss, std::array{table_}).front(), to_dense({weights_, ids_, {5, 2}}));
  }
  GradientTape tape;
  const Tensor computed = table_ * 2.0;
  const Tensor loss = sum(embedding_lookup(computed, ids_) * weights_);
  EXPECT_FALSE(tape.only_rows_read(table_));
  const auto gradients = tape.gradient_or_slices(loss, std::array{computed, table_});
  expect_same_bits(std::get<Tensor>(gradients[0]), to_dense({weights_, ids_, {5, 2}}));
  expect_same_bits(std::get<Tensor>(gradients[1]), to_dense({weights_, ids_, {5, 2}}) * 2.0);
}

TEST_F(RowGradient, OfATableThatNobodyReadsIsUndefined) {
  GradientTape tape;
  const Tensor other = random_tensor({2}, 3).as_parameter();
  EXPECT_FALSE(tape.only_rows_read(table_));
  EXPECT_FALSE(is_defined(gradient(tape, sum(other))));
}

}  // namespace
}  // namespace lockstep::test
