#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// x of example i is (i, 10 i), y is i.
Dataset numbered(std::int64_t examples) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < examples; ++i) {
    x.push_back(static_cast<float>(i));
    x.push_back(static_cast<float>(10 * i));
    y.push_back(i);
  }
  return Dataset::from_tensors(Tensor::from(x, {examples, 2}), Tensor::from(y, {examples}));
}

class DistributedDatasetOver : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
};

TEST_P(DistributedDatasetOver, DealsEveryRowOnceInOrder) {
  const DistributedDataset data = strategy_.distribute(numbered(23).batch(6));
  EXPECT_EQ(data.size(), 4);
  std::int64_t next = 0;
  std::vector<std::int64_t> global_sizes;
  for (const DistributedBatch& batch : data.epoch()) {
    ASSERT_EQ(static_cast<int>(batch.local_results().size()), replicas_);
    global_sizes.push_back(batch.global_size());
    for (const Batch& part : batch.local_results()) {
      ASSERT_EQ(part.x.shape(), (Shape{part.size(), 2}));
      ASSERT_EQ(part.y.shape(), Shape{part.size()});
      for (std::int64_t row = 0; row < part.size(); ++row, ++next) {
        EXPECT_EQ(part.x.span<float>()[2 * row + 1], static_cast<float>(10 * next));
        EXPECT_EQ(part.y.span<std::int64_t>()[row], next);
      }
    }
  }
  EXPECT_EQ(next, 23);
  EXPECT_EQ(global_sizes, (std::vector<std::int64_t>{6, 6, 6, 5}));
}

TEST_P(DistributedDatasetOver, TheLastReplicasOfAShortBatchGetNoRows) {
  auto pass = strategy_.distribute(numbered(1).batch(4)).epoch();
  const auto batch = pass.next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->global_size(), 1);
  for (int replica = 0; replica < replicas_; ++replica) {
    const Batch& part = batch->local_results()[replica];
    EXPECT_EQ(part.x.shape(), (Shape{replica == 0 ? 1 : 0, 2}));
    EXPECT_EQ(part.y.shape(), Shape{replica == 0 ? 1 : 0});
    EXPECT_EQ(part.y.dtype(), DType::i64);
  }
  EXPECT_FALSE(pass.next().has_value());
  EXPECT_FALSE(pass.next().has_value());
}

TEST_P(DistributedDatasetOver, PassesFollowTheNumberOfTheEpoch) {
  const DistributedDataset data = strategy_.distribute(numbered(16).shuffle({.seed = 3}).batch(16));
  const auto order = [&](std::uint64_t epoch) {
    auto pass = data.epoch(epoch);
    const auto batch = pass.next();
    std::vector<std::int64_t> labels;
    for (const Batch& part : batch->local_results())
      for (const std::int64_t label : part.y.span<std::int64_t>()) labels.push_back(label);
    return labels;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST_P(DistributedDatasetOver, IsIteratedOutsideReplicas) {
  EXPECT_THAT([&] { strategy_.run([&] { strategy_.distribute(numbered(4).batch(2)).epoch().next(); }); },
              ThrowsMessage<LogicError>(HasSubstr("outside replicas")));
}

INSTANTIATE_TEST_SUITE_P(Replicas, DistributedDatasetOver, testing::ValuesIn(test::replica_counts));

TEST(DistributedDataset, WithoutAnEndHasNoSize) {
  EXPECT_EQ(test::mirrored(2).distribute(numbered(4).batch(2).repeat()).size(), std::nullopt);
}

TEST(DistributedDataset, WaitingForInputIsTheCallersTime) {
  StepClock::take();
  test::mirrored(2).distribute(numbered(4).batch(2)).epoch().next();
  EXPECT_GT(StepClock::take()[static_cast<std::size_t>(Phase::input)], 0);
}

TEST(DistributedBatch, OfXAloneHasNoY) {
  const DistributedBatch batch({.x = Tensor::zeros({3, 2})}, 2);
  EXPECT_FALSE(batch.local_results()[0].y.defined());
}

TEST(DistributedBatch, RefusesWhatIsNoBatch) {
  EXPECT_THAT([] { DistributedBatch({.x = Tensor::zeros({})}, 2); },
              ThrowsMessage<InvalidArgument>(HasSubstr("call batch()")));
  EXPECT_THAT([] { DistributedBatch({.x = Tensor::zeros({3}), .y = Tensor::zeros({2})}, 2); },
              ThrowsMessage<InvalidArgument>(HasSubstr("equally many rows")));
}

}  // namespace
}  // namespace lockstep
