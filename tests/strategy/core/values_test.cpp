#include <map>
#include <string>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/strategy/core/strategy.h>

// reduce with an axis, gather, local results, and values from a function.

namespace lockstep {
namespace {

using test::mirrored;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

class Values : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const float n_ = static_cast<float>(replicas_);
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

Tensor vector_of(const std::vector<float>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

// TF case 24; semantics 2.5: axis none
TEST_P(Values, ReduceSums) {
  const auto ids = test::per_replica(replicas_, [](int replica) { return Tensor::full({}, replica); });
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, ids).item<float>(), n_ * (n_ - 1) / 2);
}

// TF case 25; semantics 2.5: first inside each replica, then across; the mean divides by all elements
TEST_P(Values, ReduceAlongAnAxisOfUnevenSizes) {
  const auto uneven = test::per_replica(replicas_, [](int replica) { return Tensor::full({replica + 1}, replica); });
  float sum = 0;
  float count = 0;
  for (int replica = 0; replica < replicas_; ++replica) {
    sum += static_cast<float>(replica * (replica + 1));
    count += static_cast<float>(replica + 1);
  }
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, uneven, {0}).item<float>(), sum);
  EXPECT_FLOAT_EQ(strategy_.reduce(ReduceOp::mean, uneven, {-1}).item<float>(), sum / count);
  const auto whole = [&](DType dtype) {
    return test::per_replica(replicas_, [dtype](int replica) { return Tensor::full({replica + 1}, replica, dtype); });
  };
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, whole(DType::i32), {0}).item<std::int32_t>(), sum);
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, whole(DType::i64), {-1}).item<std::int64_t>(), sum);
  // TensorFlow's mean of integers is a double; here the mean of integers is not defined, with or without an axis.
  EXPECT_ERROR(InvalidArgument, "the mean of i64", strategy_.reduce(ReduceOp::mean, whole(DType::i64), {0}));
}

// semantics 2.5: several axes, of integers as of real numbers
TEST_P(Values, ReduceIntegersAlongSomeAxes) {
  const auto blocks = [&]<class T>(T first) {
    return test::per_replica(replicas_, [first](int replica) {
      std::vector<T> values(24, first);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<T>(static_cast<int>(i) + replica);
      return Tensor::from(values, {2, 3, 4});
    });
  };
  for (const std::vector<int>& axes : std::vector<std::vector<int>>{{1}, {0, 2}, {-1, 0, 1}}) {
    const Tensor expected = strategy_.reduce(ReduceOp::sum, blocks(1.0F), axes);
    const Tensor total = strategy_.reduce(ReduceOp::sum, blocks(std::int64_t{1}), axes);
    EXPECT_EQ(total.dtype(), DType::i64);
    EXPECT_EQ(total.shape(), expected.shape());
    EXPECT_EQ(total.to_vector<float>(), expected.to_vector<float>());
  }
}

// TF case 26: inside and outside the scope
TEST_P(Values, ReduceAlongAnAxisOfEvenSizes) {
  const auto even = test::per_replica(replicas_, [](int) { return vector_of({1, 2}); });
  const auto ones = test::per_replica(replicas_, [](int) { return Tensor::full({}, 1); });
  const auto check = [&] {
    EXPECT_FLOAT_EQ(strategy_.reduce(ReduceOp::mean, even, {0}).item<float>(), 1.5F);
    EXPECT_EQ(strategy_.reduce(ReduceOp::sum, even, {0}).item<float>(), 3 * n_);
    EXPECT_EQ(strategy_.reduce(ReduceOp::sum, ones).item<float>(), n_);
  };
  check();
  strategy_.scope(check);
}

// TF case 31; semantics 2.6: in replica order; an axis from the end is one
TEST_P(Values, GatherJoinsInReplicaOrder) {
  const auto rows = test::per_replica(replicas_, [](int) { return Tensor::from<float>({1, 2, 3}, {1, 3}); });
  EXPECT_EQ(strategy_.gather(rows, 0).shape(), (Shape{replicas_, 3}));
  const Tensor along = strategy_.gather(rows, -1);
  EXPECT_EQ(along.shape(), (Shape{1, 3 * replicas_}));
  std::vector<float> expected;
  for (int replica = 0; replica < replicas_; ++replica) expected.insert(expected.end(), {1, 2, 3});
  EXPECT_THAT(along.to_vector<float>(), ElementsAreArray(expected));
  const auto lines = test::per_replica(replicas_, [](int) { return vector_of({1, 2, 3}); });
  EXPECT_THAT(strategy_.gather(lines, 0).to_vector<float>(), ElementsAreArray(expected));
  const auto blocks = test::per_replica(replicas_, [](int) { return Tensor::from<float>({1, 2, 1, 2}, {1, 2, 2}); });
  EXPECT_EQ(strategy_.gather(blocks, 0).shape(), (Shape{replicas_, 2, 2}));
  EXPECT_EQ(strategy_.gather(blocks, 1).shape(), (Shape{1, 2 * replicas_, 2}));
  EXPECT_EQ(strategy_.gather(blocks, 2).shape(), (Shape{1, 2, 2 * replicas_}));
}

// TF case 32; semantics 2.6: sizes along the axis may differ
TEST_P(Values, GatherTakesSizesThatDifferAlongTheAxis) {
  const std::int64_t total = replicas_ * (replicas_ + 1) / 2;
  const auto rows = test::per_replica(replicas_, [](int replica) { return Tensor::full({replica + 1, 1}, replica); });
  const Tensor joined = strategy_.gather(rows, 0);
  EXPECT_EQ(joined.shape(), (Shape{total, 1}));
  std::vector<float> expected;
  for (int replica = 0; replica < replicas_; ++replica)
    expected.insert(expected.end(), static_cast<std::size_t>(replica + 1), static_cast<float>(replica));
  EXPECT_THAT(joined.to_vector<float>(), ElementsAreArray(expected));
  const auto columns = test::per_replica(replicas_, [](int replica) { return Tensor::full({1, replica + 1}, 1); });
  test::expect_same_bits(strategy_.gather(columns, 1), Tensor::full({1, total}, 1));
}

// semantics 2.8: f(ctx) for each replica, a PerReplica for one replica too
TEST_P(Values, ComeFromAFunction) {
  const auto made = strategy_.values_from_function(
      [](const ValueContext& context) { return 10 * context.num_replicas_in_sync + context.replica_id_in_sync_group; });
  ASSERT_EQ(made.size(), replicas_);  // also with one replica
  for (int replica = 0; replica < replicas_; ++replica) EXPECT_EQ(made[replica], 10 * replicas_ + replica);
}

// TF case 30: plain tensors, not the variable. semantics 2.7: always R entries; 2.5: a copy
TEST_P(Values, OfAVariableAreItsCopies) {
  const Variable v = strategy_.scope([] { return test::variable_of("v", Tensor::full({2}, 1)); });
  const auto copies = strategy_.local_results(v);
  ASSERT_EQ(copies.size(), replicas_);
  const Tensor mean = strategy_.reduce(ReduceOp::mean, copies);
  EXPECT_THAT(mean.to_vector<float>(), Each(1));
  EXPECT_NE(mean.raw_data(), v.value().raw_data()) << "TensorFlow gives the variable itself";
  EXPECT_FALSE(mean.is_parameter());
}

INSTANTIATE_TEST_SUITE_P(Replicas, Values, testing::ValuesIn(test::replica_counts));

// semantics 14.5: 24/15 = 1.6; 6 with an empty replica, whose mean of means is NaN
TEST(WorkedValues, AreTensorFlows) {
  const MirroredStrategy strategy = mirrored(2);
  const auto blocks = test::per_replica(2, [](int r) { return Tensor::full({2 + r, 3}, r + 1); });
  EXPECT_FLOAT_EQ(strategy.reduce(ReduceOp::mean, blocks, {0, 1}).item<float>(), 1.6F);
  const PerReplica one_empty(std::vector{vector_of({5, 7}), Tensor::zeros({0})});
  EXPECT_FLOAT_EQ(strategy.reduce(ReduceOp::mean, one_empty, {0}).item<float>(), 6);
  const PerReplica means(std::vector{Tensor::full({}, 6), Tensor::full({}, std::nan(""))});
  EXPECT_TRUE(std::isnan(strategy.reduce(ReduceOp::mean, means).item<float>()));
  EXPECT_FLOAT_EQ(strategy.weighted_mean(means, PerReplica(std::vector{2.0, 0.0})).item<float>(), 6);
}

// 301 is not a bf16.
TEST(WorkedValues, OfBf16AreRoundedOnce) {
  const MirroredStrategy strategy = mirrored(2);
  const auto ones = [](std::int64_t first, std::int64_t second) {
    return PerReplica(std::vector{Tensor::full({first}, 1, DType::bf16), Tensor::full({second}, 1, DType::bf16)});
  };
  const Tensor one = Tensor::full({}, 1, DType::bf16);
  test::expect_same_bits(strategy.reduce(ReduceOp::mean, ones(151, 150), {0}), one);
  test::expect_same_bits(strategy.reduce(ReduceOp::sum, ones(257, 1), {0}), Tensor::full({}, 258, DType::bf16));
  const PerReplica means(std::vector{one, one});
  test::expect_same_bits(strategy.weighted_mean(means, PerReplica(std::vector{3.0, 298.0})), one);
  const PerReplica mixed(std::vector{one, Tensor::full({}, 1)});
  EXPECT_ERROR(InvalidArgument, "reduce needs values of one dtype, replica 0 has bf16",
               strategy.reduce(ReduceOp::sum, mixed, {}));
  EXPECT_ERROR(InvalidArgument, "weighted_mean needs values of one dtype, replica 0 has bf16",
               strategy.weighted_mean(mixed, PerReplica(std::vector{1.0, 2.0})));
}

// TF case 28: means and sizes of batches of 2 and 1; semantics 2.5: weighted_mean(values, counts)
TEST(WeightedMean, IsTheMeanOverAllExamples) {
  const MirroredStrategy strategy = mirrored(2);
  const PerReplica batches(std::vector{vector_of({5, 6}), vector_of({7})});
  const auto means = strategy.run([](const Tensor& x) { return mean(x); }, batches);
  EXPECT_EQ(means[0].item<float>(), 5.5F);
  EXPECT_EQ(means[1].item<float>(), 7);
  const auto sizes = strategy.run([](const Tensor& x) { return static_cast<double>(x.elements()); }, batches);
  EXPECT_THAT(sizes.local_results(), ElementsAre(2, 1));
  EXPECT_FLOAT_EQ(strategy.weighted_mean(means, sizes).item<float>(), 6);
  EXPECT_ERROR(InvalidArgument, "replica 1 has -1", strategy.weighted_mean(means, PerReplica(std::vector{2.0, -1.0})));
}

template <class Value>
constexpr bool can_reduce = requires(const Strategy& strategy, const Value& value) {
  strategy.reduce(ReduceOp::sum, value);
};
template <class Value>
constexpr bool can_gather = requires(const Strategy& strategy, const Value& value) {
  strategy.gather(value, 0);
};
template <class Value>
constexpr bool can_be_added = requires(const Value& value) {
  value + value;
};

// The following errors occur at run time in TensorFlow, at compile time here.
// Probe P10 and semantics 2.5: a plain value is not reduced over replicas, where TensorFlow counts it R times, or fails
static_assert(can_reduce<PerReplica<Tensor>> && !can_reduce<Tensor> && !can_reduce<Variable>);
// Probe P12 and semantics 2.6: a map of values, of which TensorFlow's gather gives replica 0's
static_assert(can_gather<PerReplica<Tensor>> && !can_gather<std::map<std::string, PerReplica<Tensor>>>);
// semantics 2.6, 12.15: gather of IndexedSlices
static_assert(!can_gather<PerReplica<IndexedSlices>>);
// semantics 1.1, 12.19: a PerReplica used as a tensor
static_assert(!can_be_added<PerReplica<Tensor>> && !std::is_convertible_v<PerReplica<Tensor>, Tensor>);

// TF case 33: shapes and ranks that do not match. semantics 2.6: scalars; 12.12: axis out of range; 12.13: uneven
// shapes without an axis; 12.14: gather of a different rank or other dims; 3.6: inside a replica
TEST(ValueErrors, NameWhatDoesNotFit) {
  const MirroredStrategy strategy = mirrored(2);
  const auto pair = [](const Shape& a, const Shape& b) {
    return PerReplica(std::vector{Tensor::zeros(a), Tensor::zeros(b)});
  };
  EXPECT_ERROR(InvalidArgument, "f32 (1, 1) on CPU:0, f32 (1, 2) on CPU:0", strategy.gather(pair({1, 1}, {1, 2}), 0));
  EXPECT_ERROR(InvalidArgument, "f32 (1) on CPU:0, f32 (1, 2) on CPU:0", strategy.gather(pair({1}, {1, 2}), 0));
  EXPECT_ERROR(InvalidArgument, "scalars cannot be joined", strategy.gather(pair({}, {}), 0));
  EXPECT_ERROR(InvalidArgument, "axis 2 is out of range for rank 1", strategy.gather(pair({1}, {1}), 2));
  EXPECT_ERROR(InvalidArgument, "the same shape", strategy.reduce(ReduceOp::sum, pair({1}, {2})));
  EXPECT_ERROR(InvalidArgument, "axis 1 is out of range for rank 1",
               strategy.reduce(ReduceOp::sum, pair({1}, {2}), {1}));
  EXPECT_ERROR(Unsupported, "takes sum or mean, got max", strategy.reduce(ReduceOp::max, pair({1}, {2}), {0}));
  EXPECT_ERROR(InvalidArgument, "values of 1 replicas, the strategy has 2",
               strategy.gather(PerReplica(std::vector{Tensor::zeros({1})}), 0));
  const Variable of_three = mirrored(3).scope([] { return test::variable_of("v", Tensor::zeros({2})); });
  EXPECT_ERROR(InvalidArgument, "variable 'v' has 3 copies for 2 replicas", strategy.local_results(of_three));
  EXPECT_ERROR(LogicError, "gather() was called inside a replica",
               strategy.run([&] { strategy.gather(pair({1}, {1}), 0); }));
}

}  // namespace
}  // namespace lockstep
