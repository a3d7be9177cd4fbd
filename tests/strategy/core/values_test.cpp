#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/strategy.h>

// Semantics 2: reduce with an axis, gather, local results, values from a function.

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

// TF case 24
TEST_P(Values, ReduceSums) {
  const auto ids = test::per_replica(replicas_, [](int replica) { return Tensor::full({}, replica); });
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, ids).item<float>(), n_ * (n_ - 1) / 2);
}

// TF case 25
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
}

// TF case 26
TEST_P(Values, ReduceAlongAnAxisOfEvenSizes) {
  const auto even = test::per_replica(replicas_, [](int) { return vector_of({1, 2}); });
  EXPECT_FLOAT_EQ(strategy_.reduce(ReduceOp::mean, even, {0}).item<float>(), 1.5F);
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, even, {0}).item<float>(), 3 * n_);
}

// TF case 31
TEST_P(Values, GatherJoinsInReplicaOrder) {
  const auto rows = test::per_replica(replicas_, [](int) { return Tensor::from<float>({1, 2, 3}, {1, 3}); });
  EXPECT_EQ(strategy_.gather(rows, 0).shape(), (Shape{replicas_, 3}));
  const Tensor along = strategy_.gather(rows, -1);
  EXPECT_EQ(along.shape(), (Shape{1, 3 * replicas_}));
  std::vector<float> expected;
  for (int replica = 0; replica < replicas_; ++replica) expected.insert(expected.end(), {1, 2, 3});
  EXPECT_THAT(along.to_vector<float>(), ElementsAreArray(expected));
}

// TF case 32
TEST_P(Values, GatherTakesSizesThatDifferAlongTheAxis) {
  const std::int64_t total = replicas_ * (replicas_ + 1) / 2;
  const auto rows = test::per_replica(replicas_, [](int replica) { return Tensor::full({replica + 1, 1}, replica); });
  const Tensor joined = strategy_.gather(rows, 0);
  EXPECT_EQ(joined.shape(), (Shape{total, 1}));
  std::vector<float> expected;
  for (int replica = 0; replica < replicas_; ++replica)
    expected.insert(expected.end(), static_cast<std::size_t>(replica + 1), static_cast<float>(replica));
  EXPECT_THAT(joined.to_vector<float>(), ElementsAreArray(expected));
}

TEST_P(Values, ComeFromAFunction) {
  const auto made = strategy_.values_from_function(
      [](const ValueContext& context) { return 10 * context.num_replicas_in_sync + context.replica_id_in_sync_group; });
  ASSERT_EQ(made.size(), replicas_);  // at one replica too
  for (int replica = 0; replica < replicas_; ++replica) EXPECT_EQ(made[replica], 10 * replicas_ + replica);
}

// TF case 30
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

// Semantics 14: worked examples
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

// TF case 28: means and sizes of batches of 2 and 1
TEST(WeightedMean, IsTheMeanOverAllExamples) {
  const MirroredStrategy strategy = mirrored(2);
  const PerReplica means(std::vector{Tensor::full({}, 5.5), Tensor::full({}, 7)});
  EXPECT_FLOAT_EQ(strategy.weighted_mean(means, PerReplica(std::vector{2.0, 1.0})).item<float>(), 6);
  EXPECT_ERROR(InvalidArgument, "replica 1 has -1", strategy.weighted_mean(means, PerReplica(std::vector{2.0, -1.0})));
}

// TF case 33 and semantics 12
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
  EXPECT_ERROR(LogicError, "gather() was called inside a replica",
               strategy.run([&] { strategy.gather(pair({1}, {1}), 0); }));
}

}  // namespace
}  // namespace lockstep
