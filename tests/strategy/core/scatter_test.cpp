#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/strategy/core/variable.h>

// Writing rows of a variable.

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::ElementsAre;
using testing::ElementsAreArray;

Variable rows(const Strategy& strategy, Aggregation aggregation, const std::vector<float>& start,
              Synchronization synchronization = Synchronization::on_write) {
  return strategy.scope([&] {
    return Variable({.name = "table",
                     .shape = {static_cast<std::int64_t>(start.size())},
                     .initializer = [&](const Tensor& out) { copy(Tensor::from(start, out.shape()), out); },
                     .synchronization = synchronization,
                     .aggregation = aggregation});
  });
}

IndexedSlices slices(const std::vector<float>& values, const std::vector<std::int64_t>& indices, std::int64_t rows) {
  const Shape count{static_cast<std::int64_t>(values.size())};
  return {Tensor::from(values, count), Tensor::from(indices, count), {rows}};
}

void expect_copies(const Variable& variable, const std::vector<float>& expected) {
  for (const Tensor& own : variable.state().copies()) EXPECT_THAT(own.to_vector<float>(), ElementsAreArray(expected));
}

// TF case 73: replica r has values (r, r+1) at (r, r+1). semantics 5.11: aggregated first, then applied
TEST(Scatter, InReplicasIsCombinedByTheAggregation) {
  const MirroredStrategy strategy = mirrored(2);
  const auto own = [] {
    const auto r = this_replica();
    return slices({static_cast<float>(r), static_cast<float>(r + 1)}, {r, r + 1}, 3);
  };
  const Variable mean = rows(strategy, Aggregation::mean, {0, 0, 0});
  strategy.run([&] { mean.scatter_sub(own()); });
  expect_copies(mean, {0, -1, -1});
  const Variable sum = rows(strategy, Aggregation::sum, {0, 0, 0});
  strategy.run([&] { sum.scatter_add(own()); });
  expect_copies(sum, {0, 2, 2});
}

// TF case 73: scatter_add of integers
TEST(Scatter, TakesIntegers) {
  const MirroredStrategy strategy = mirrored(2);
  const Variable counts = strategy.scope([] {
    return Variable({.name = "counts",
                     .shape = {3},
                     .initializer = [](const Tensor& out) { copy(Tensor::zeros({3}, DType::i64), out); },
                     .dtype = DType::i64,
                     .aggregation = Aggregation::sum});
  });
  const Tensor ones = Tensor::full({2}, 1, DType::i64);
  strategy.run([&] { counts.scatter_add({ones, Tensor::from<std::int64_t>({2, this_replica()}, {2}), {3}}); });
  EXPECT_THAT(counts.value().to_vector<std::int64_t>(), ElementsAre(1, 1, 2));
}

// TF case 73: testScatterMul, testScatterDiv: replica r scales row r of [1, 6, 1] by r + 2
TEST(Scatter, ScalesIntegers) {
  const MirroredStrategy strategy = mirrored(2);
  for (const DType dtype : {DType::i32, DType::i64}) {
    const auto scaled = [&](const auto& scale) {
      const Variable v = strategy.scope([&] {
        return Variable({.name = "v",
                         .shape = {3},
                         .initializer =
                             [&](const Tensor& out) {
                               const Tensor start = Tensor::zeros({3}, dtype);
                               for (std::int64_t i = 0; i < 3; ++i)
                                 copy(Tensor::full({1}, i == 1 ? 6 : 1, dtype), start.slice_view(0, i, i + 1));
                               copy(start, out);
                             },
                         .dtype = dtype,
                         .aggregation = Aggregation::sum});
      });
      strategy.run([&] {
        const int r = this_replica();
        scale(v, IndexedSlices{Tensor::full({1}, r + 2, dtype), Tensor::full({1}, r, DType::i64), {3}});
      });
      for (const Tensor& copy : v.state().copies())
        EXPECT_EQ(copy.to_vector<int>(), v.state().copies().front().to_vector<int>());
      return v.value().to_vector<int>();
    };
    EXPECT_THAT(scaled([](const Variable& v, const IndexedSlices& by) { v.scatter_div(by); }), ElementsAre(0, 2, 1));
    EXPECT_THAT(scaled([](const Variable& v, const IndexedSlices& by) { v.scatter_mul(by); }), ElementsAre(2, 18, 1));
    EXPECT_ERROR(InvalidArgument, "an integer cannot be divided by 0",
                 scaled([&](const Variable& v, const IndexedSlices& by) {
                   v.scatter_div({Tensor::zeros({1}, dtype), by.indices, {3}});
                 }));
  }
}

TEST(Scatter, IntegersWrapAround) {
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  const Tensor row = Tensor::from<std::int32_t>({least, least, -7}, {3});
  const auto by = [](std::int32_t number, std::int64_t index) {
    return IndexedSlices{Tensor::from<std::int32_t>({number}, {1}), Tensor::from<std::int64_t>({index}, {1}), {3}};
  };
  scatter(ScatterOp::div, by(-1, 0), row);
  scatter(ScatterOp::mul, by(3, 1), row);
  scatter(ScatterOp::div, by(2, 2), row);
  EXPECT_THAT(row.to_vector<std::int32_t>(), ElementsAre(least, least, -3));
}

// TF case 75: testScatterMin/Max/Update. semantics 5.11: only NONE or ONLY_FIRST_REPLICA
TEST(Scatter, OfExtremesAndUpdatesNeedsOneReplicasValues) {
  const MirroredStrategy strategy = mirrored(2);
  const IndexedSlices one = slices({1}, {1}, 3);
  for (const Aggregation aggregation : {Aggregation::sum, Aggregation::mean}) {
    const Variable v = rows(strategy, aggregation, {0, 2, 0});
    EXPECT_ERROR(Unsupported, "scatter_min in a replica is not supported", strategy.run([&] { v.scatter_min(one); }));
    EXPECT_ERROR(Unsupported, "scatter_max in a replica", strategy.run([&] { v.scatter_max(one); }));
    EXPECT_ERROR(Unsupported, "scatter_update in a replica", strategy.run([&] { v.scatter_update(one); }));
  }
  const auto first = [&](const std::vector<float>& start) {
    return rows(strategy, Aggregation::only_first_replica, start);
  };
  const Variable least = first({0, 2, 0});
  strategy.run([&] { least.scatter_min(one); });
  expect_copies(least, {0, 1, 0});
  const Variable largest = first({0, 0, 0});
  strategy.run([&] { largest.scatter_max(slices({1}, {0}, 3)); });
  expect_copies(largest, {1, 0, 0});
  const Variable replaced = first({0, 0, 0});
  strategy.run([&] { replaced.scatter_update(slices({3}, {1}, 3)); });
  expect_copies(replaced, {0, 3, 0});
}

// TF case 76: [4], value 2 at 0, in sequence
TEST(Scatter, WithoutAnAggregationAppliesWhatAllReplicasGive) {
  const MirroredStrategy strategy = mirrored(2);
  const Variable v = rows(strategy, Aggregation::none, {4});
  const auto after = [&](void (Variable::*scatter)(const IndexedSlices&) const, float value) {
    strategy.run([&] { (v.*scatter)(slices({value}, {0}, 1)); });
    return v.state().copies()[1].item<float>();
  };
  EXPECT_EQ(after(&Variable::scatter_sub, 2), 2);
  EXPECT_EQ(after(&Variable::scatter_add, 4), 6);
  EXPECT_EQ(after(&Variable::scatter_max, 4), 6);
  EXPECT_EQ(after(&Variable::scatter_min, 2), 2);
  EXPECT_EQ(after(&Variable::scatter_mul, 4), 8);
  EXPECT_EQ(after(&Variable::scatter_div, 2), 4);
  EXPECT_EQ(after(&Variable::scatter_update, 2), 2);
  EXPECT_ERROR(InvalidArgument, "replicas 0 and 1 assign different values",
               strategy.run([&] { v.scatter_add(slices({static_cast<float>(this_replica())}, {0}, 1)); }));
}

// TF case 76: testScatterOpsInCrossReplicaContext. semantics 5.11: to every component; duplicates in order
TEST(Scatter, OutsideReplicasWritesEveryCopy) {
  const MirroredStrategy strategy = mirrored(3);
  const Variable sum = rows(strategy, Aggregation::sum, {1, 1, 1});
  sum.scatter_add(slices({2}, {0}, 3));
  expect_copies(sum, {3, 1, 1});
  sum.scatter_min(slices({2}, {1}, 3));
  expect_copies(sum, {3, 1, 1});
  sum.scatter_add(slices({1, 10, 100}, {2, 2, 0}, 3));  // duplicates accumulate
  expect_copies(sum, {103, 1, 12});
}

// TF case 76: SyncOnReadScatterReplicaTest. semantics 5.11: ON_READ
TEST(Scatter, IntoOneCombinedOnReadingIsNotSupported) {
  const MirroredStrategy strategy = mirrored(2);
  const IndexedSlices one = slices({1}, {0}, 1);
  for (const Aggregation aggregation :
       {Aggregation::none, Aggregation::sum, Aggregation::mean, Aggregation::only_first_replica}) {
    const Variable v = rows(strategy, aggregation, {1}, Synchronization::on_read);
    for (const auto scatter :
         {&Variable::scatter_add, &Variable::scatter_sub, &Variable::scatter_mul, &Variable::scatter_div,
          &Variable::scatter_min, &Variable::scatter_max, &Variable::scatter_update}) {
      EXPECT_ERROR(Unsupported, "is not supported for variable 'table'", (v.*scatter)(one));
      EXPECT_ERROR(Unsupported, "is not supported for variable 'table'", strategy.run([&] { (v.*scatter)(one); }));
    }
  }
}

// semantics 14.7: gradient descent, learning rate 1, on 4 rows; sparse rows {0:1, 1:2} and {1:1, 2:2}
TEST(Scatter, IsASparseStepOfGradientDescent) {
  const MirroredStrategy strategy = mirrored(2);
  const Variable v = rows(strategy, Aggregation::sum, {0, 0, 0, 0});
  strategy.run([&] { v.scatter_sub(slices({1, 2}, {this_replica(), this_replica() + 1}, 4)); });
  expect_copies(v, {-1, -3, -2, 0});
}

// The slices share a copy's memory, which scattering overwrites.
TEST(Scatter, TakesSlicesOfTheVariableItself) {
  const auto scatter_own = [](const Variable& v) {
    v.scatter_add({slice(v.value(), 0, 1, 4), Tensor::from<std::int64_t>({0, 1, 2}, {3}), {4}});
    v.scatter_update({slice(v.value(), 0, 0, 3), Tensor::from<std::int64_t>({1, 2, 3}, {3}), {4}});
  };
  for (const int replicas : {1, 2})
    for (const Aggregation aggregation : {Aggregation::none, Aggregation::only_first_replica}) {
      const MirroredStrategy strategy = mirrored(replicas);
      const Variable outside = rows(strategy, aggregation, {1, 2, 3, 4});
      scatter_own(outside);
      expect_copies(outside, {3, 3, 5, 7});
      const Variable inside = rows(strategy, aggregation, {1, 2, 3, 4});
      strategy.run([&] { scatter_own(inside); });
      expect_copies(inside, {3, 3, 5, 7});
      const Variable indices = strategy.scope([&] {
        return Variable({.name = "indices",
                         .shape = {3},
                         .initializer =
                             [](const Tensor& out) {
                               copy(Tensor::from<std::int64_t>({1, 2, 0}, {3}), out);
                             },
                         .dtype = DType::i64,
                         .aggregation = aggregation});
      });
      indices.scatter_add({indices.value(), indices.value(), {3}});
      expect_copies(indices, {1, 3, 2});
    }
}

TEST(Scatter, ChecksBeforeItWrites) {
  const Variable v = rows(get_strategy(), Aggregation::none, {1, 1});
  EXPECT_ERROR(InvalidArgument, "index 2 is outside the 2 rows", v.scatter_add(slices({1, 1}, {0, 2}, 2)));
  EXPECT_ERROR(InvalidArgument, "does not fit", v.scatter_add(slices({1}, {0}, 3)));
  expect_copies(v, {1, 1});
}

// Kernels for numbers would read and write beyond the rows of smaller elements.
TEST(Scatter, OfBytesOnlyUpdates) {
  const Variable v = test::variable_of("bytes", Tensor::zeros({2, 4}, DType::u8));
  const IndexedSlices ones{Tensor::full({1, 4}, 1, DType::u8), Tensor::from<std::int64_t>({1}, {1}), {2, 4}};
  EXPECT_ERROR(InvalidArgument, "scatter_add takes f32, bf16, i32 or i64", v.scatter_add(ones));
  EXPECT_ERROR(InvalidArgument, "scatter_max takes f32, bf16, i32 or i64", v.scatter_max(ones));
  EXPECT_ERROR(InvalidArgument, "scatter_mul takes f32, i32 or i64", v.scatter_mul(ones));
  v.scatter_update(ones);
  EXPECT_EQ(v.value().to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace lockstep
