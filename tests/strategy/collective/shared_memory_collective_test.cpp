#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/backend.h>
#include <lockstep/strategy/collective/shared_memory/shared_memory_collective.h>

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min};
constexpr std::int64_t sizes[] = {0, 1, 15, 16, 17, 1000};

Tensor value_of(int replica, std::int64_t size) { return test::random_tensor({size}, 100U + replica); }

/// Combined in f32, one replica after the other.
std::vector<float> expected(ReduceOp op, int replicas, std::int64_t size) {
  std::vector<float> result = value_of(0, size).to_vector<float>();
  for (int replica = 1; replica < replicas; ++replica) {
    const std::vector<float> next = value_of(replica, size).to_vector<float>();
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (op == ReduceOp::max)
        result[i] = std::max(result[i], next[i]);
      else if (op == ReduceOp::min)
        result[i] = std::min(result[i], next[i]);
      else
        result[i] += next[i];
    }
  }
  if (op == ReduceOp::mean)
    for (float& value : result) value /= static_cast<float>(replicas);
  return result;
}

class SharedMemoryCollectiveOf : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);

  PerReplica<Tensor> all_reduce(ReduceOp op, const PerReplica<Tensor>& values) const {
    return strategy_.run([&](const Tensor& own) { return get_replica_context().all_reduce(op, own); }, values);
  }
};

TEST_P(SharedMemoryCollectiveOf, AllReduceIsExactInReplicaOrderOnEveryReplica) {
  for (const ReduceOp op : all_ops)
    for (const std::int64_t size : sizes) {
      const auto values = test::per_replica(replicas_, [&](int replica) { return value_of(replica, size); });
      const auto results = all_reduce(op, values);
      for (int replica = 0; replica < replicas_; ++replica) {
        EXPECT_EQ(results[replica].to_vector<float>(), expected(op, replicas_, size))
            << name(op) << " of " << size << " on " << replica;
        test::expect_same_bits(values[replica], value_of(replica, size));
      }
    }
}

TEST_P(SharedMemoryCollectiveOf, AllReduceKeepsShapesAndTakesSlices) {
  const auto values = test::per_replica(replicas_, [](int replica) {
    return test::strided_copy(Tensor::full({2, 3, 4}, replica + 1));
  });
  const Tensor sum = Tensor::full({2, 3, 4}, replicas_ * (replicas_ + 1) / 2);
  const auto results = all_reduce(ReduceOp::sum, values);
  for (const Tensor& result : results.local_results()) test::expect_same_bits(result, sum);
}

TEST_P(SharedMemoryCollectiveOf, ResultsShareNoMemory) {
  const auto results = all_reduce(ReduceOp::sum, test::per_replica(replicas_, [](int) { return Tensor::zeros({3}); }));
  for (int replica = 0; replica < replicas_; ++replica)
    for (int other = 0; other < replica; ++other) EXPECT_NE(results[replica].raw_data(), results[other].raw_data());
}

TEST_P(SharedMemoryCollectiveOf, AllReduceTakesOnlyF32) {
  EXPECT_THAT(
      [&] {
        all_reduce(ReduceOp::sum, test::per_replica(replicas_, [](int) { return Tensor::zeros({2}, DType::i32); }));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("i32 (2)")));
}

TEST_P(SharedMemoryCollectiveOf, ReduceAndUpdateGivesEveryCopyTheStepOfTheSummedGradients) {
  constexpr std::int64_t size = 100;
  const auto gradients = test::per_replica(replicas_, [](int replica) { return value_of(replica, size); });
  const auto parameters = test::per_replica(replicas_, [](int) { return test::random_tensor({size}, 7); });
  std::vector<float*> gradient_pointers;
  std::vector<float*> parameter_pointers;
  for (int replica = 0; replica < replicas_; ++replica) {
    gradient_pointers.push_back(gradients[replica].data<float>());
    parameter_pointers.push_back(parameters[replica].data<float>());
  }
  const FlatRange ranges[] = {{0, 16}, {32, 97}};
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    context.collective().reduce_and_update(
        context.replica_id_in_sync_group(), {gradient_pointers, parameter_pointers, {}}, ranges,
        [](const UpdateViews& views) { current_backend().update(SgdStep{.learning_rate = 1}, views); });
  });
  const std::vector<float> before = test::random_tensor({size}, 7).to_vector<float>();
  const std::vector<float> sums = expected(ReduceOp::sum, replicas_, size);
  for (const Tensor& copy : parameters.local_results())
    for (std::int64_t i = 0; i < size; ++i) {
      const bool in_a_range = i < 16 || (i >= 32 && i < 97);
      EXPECT_EQ(copy.span<float>()[i], in_a_range ? before[i] - sums[i] : before[i]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Replicas, SharedMemoryCollectiveOf, testing::ValuesIn(test::replica_counts));

class ReplicasThatDisagree : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);

  /// The replicas' messages about a call that they do not agree on, followed in the same step by one that works.
  std::vector<std::string> messages(const std::function<void(const ReplicaContext&)>& disagree) const {
    return strategy_
        .run([&] {
          const ReplicaContext context = get_replica_context();
          std::string message = "no error";
          try {
            disagree(context);
          } catch (const InvalidArgument& error) {
            message = error.what();
          }
          const Tensor sum = context.all_reduce(ReduceOp::sum, Tensor::full({}, 1));
          EXPECT_EQ(sum.item<float>(), static_cast<float>(replicas_));
          return message;
        })
        .local_results();
  }
};

TEST_P(ReplicasThatDisagree, OnShapesAreAllToldAllShapesAndCanGoOn) {
  const auto all = messages([](const ReplicaContext& context) {
    context.all_reduce(ReduceOp::sum, Tensor::zeros({2, context.replica_id_in_sync_group() + 3}));
  });
  for (const std::string& message : all)
    for (int replica = 0; replica < replicas_; ++replica)
      EXPECT_THAT(message, HasSubstr(fmt::format("sum of f32 (2, {}) on CPU:{}", replica + 3, replica)));
}

TEST_P(ReplicasThatDisagree, OnTheOpAreAllToldAllOps) {
  const auto all = messages([](const ReplicaContext& context) {
    context.all_reduce(context.replica_id_in_sync_group() == 0 ? ReduceOp::min : ReduceOp::mean, Tensor::zeros({1}));
  });
  for (const std::string& message : all)
    EXPECT_THAT(message, testing::AllOf(HasSubstr("min of f32 (1)"), HasSubstr("mean of f32 (1)")));
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicasThatDisagree, testing::Values(2, 3, 4, 5, 8));

TEST(ShardOf, SharesAreConsecutiveOnCacheLinesAndTheWholeRange) {
  constexpr std::int64_t line = 16;
  for (const std::int64_t begin : {0, 48})
    for (std::int64_t size = 0; size <= 200; ++size)
      for (const int replicas : test::replica_counts) {
        std::int64_t at = begin;
        for (int replica = 0; replica < replicas; ++replica) {
          const FlatRange share = shard_of({begin, begin + size}, replica, replicas);
          ASSERT_EQ(share.begin, at);
          ASSERT_GE(share.end, share.begin);
          ASSERT_TRUE(share.end == begin + size || (share.end - begin) % line == 0);
          at = share.end;
        }
        ASSERT_EQ(at, begin + size);
      }
}

}  // namespace
}  // namespace lockstep
