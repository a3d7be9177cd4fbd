#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Reduce : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
  const PerReplica<Tensor> values_ = test::per_replica(replicas_, [](int replica) {
    return test::random_tensor({4, 5}, 10U + replica);
  });
};

// semantics 2.5: MIN and MAX too; 7.1, 15.9: in replica order, the mean divided after
TEST_P(Reduce, CombinesInReplicaOrder) {
  for (std::int64_t i = 0; i < 20; ++i) {
    const auto at = [&](int replica) { return values_[replica].span<float>()[i]; };
    float sum = at(0);
    float largest = at(0);
    float smallest = at(0);
    for (int replica = 1; replica < replicas_; ++replica) {
      sum += at(replica);
      largest = std::max(largest, at(replica));
      smallest = std::min(smallest, at(replica));
    }
    const auto reduced = [&](ReduceOp op) { return strategy_.reduce(op, values_).span<float>()[i]; };
    EXPECT_EQ(reduced(ReduceOp::sum), sum);
    EXPECT_EQ(reduced(ReduceOp::mean), sum / static_cast<float>(replicas_));
    EXPECT_EQ(reduced(ReduceOp::max), largest);
    EXPECT_EQ(reduced(ReduceOp::min), smallest);
  }
}

TEST_P(Reduce, GivesNewMemory) {
  const Tensor before = Tensor::from(values_[0].to_vector<float>(), {4, 5});
  const Tensor result = strategy_.reduce(ReduceOp::max, values_);
  EXPECT_NE(result.raw_data(), values_[0].raw_data());
  test::expect_same_bits(values_[0], before);
}

// TF case 29: ops by name; TensorFlow's mean of integers is a double. semantics 2.5, 12.11: an unknown op
TEST_P(Reduce, TakesOpsByNameAndIntegers) {
  test::expect_same_bits(strategy_.reduce("Mean", values_), strategy_.reduce(ReduceOp::mean, values_));
  EXPECT_THROW(strategy_.reduce("average", values_), InvalidArgument);
  const auto ids = test::per_replica(replicas_, [](int replica) { return Tensor::full({}, replica, DType::i64); });
  EXPECT_EQ(strategy_.reduce("SUM", ids).item<std::int64_t>(), replicas_ * (replicas_ - 1) / 2);
  EXPECT_THAT([&] { strategy_.reduce("mean", ids); }, ThrowsMessage<InvalidArgument>(HasSubstr("the mean of i64")));
}

// semantics 12.13: the same size and shape; 3.6: inside a replica
TEST_P(Reduce, RefusesWhatDoesNotFit) {
  const auto too_many = test::per_replica(replicas_ + 1, [](int) { return Tensor::zeros({2}); });
  EXPECT_THROW(strategy_.reduce(ReduceOp::sum, too_many), InvalidArgument);
  EXPECT_THAT([&] { strategy_.run([&] { strategy_.reduce(ReduceOp::sum, values_); }); },
              ThrowsMessage<LogicError>(HasSubstr("all_reduce")));
  if (replicas_ == 1) return;
  const auto uneven = test::per_replica(replicas_, [](int replica) { return Tensor::zeros({replica + 1}); });
  EXPECT_THAT([&] { strategy_.reduce(ReduceOp::sum, uneven); },
              ThrowsMessage<InvalidArgument>(
                  testing::AllOf(HasSubstr("replica 0 has f32 (1)"), HasSubstr("replica 1 has f32 (2)"))));
}

INSTANTIATE_TEST_SUITE_P(Replicas, Reduce, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
