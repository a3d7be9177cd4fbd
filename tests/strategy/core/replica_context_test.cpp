#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

using test::mirrored;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ReplicaContext, DoesNotExistInAScopeOutsideRun) {
  const auto inside = mirrored(2).scope();
  EXPECT_THAT([] { get_replica_context(); }, ThrowsMessage<LogicError>(HasSubstr("there is no replica here")));
}

class ReplicaContextOf : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);

  /// d(sum over replicas of sum(all_reduce(x) * weights)) / dx, by replica; the weights are (r + 1, 10 (r + 1)).
  PerReplica<Tensor> gradients(ReduceOp op) const {
    return strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      const float scale = static_cast<float>(context.replica_id_in_sync_group() + 1);
      const Tensor x = Tensor::full({2}, scale);
      const Tensor weights = Tensor::from(std::vector<float>{scale, 10 * scale}, {2});
      GradientTape tape;
      tape.watch(x);
      const Tensor target = sum(context.all_reduce(op, x) * weights);
      return tape.gradient(target, std::vector{x}).front();
    });
  }
};

TEST_P(ReplicaContextOf, KnowsItsPlace) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    EXPECT_EQ(context.num_replicas_in_sync(), replicas_);
    EXPECT_EQ(context.strategy(), strategy_);
    EXPECT_LT(context.replica_id_in_sync_group(), replicas_);
  });
}

TEST_P(ReplicaContextOf, GradientOfAnAllReducedSumIsTheSumOfTheGradients) {
  const int sum = replicas_ * (replicas_ + 1) / 2;
  const auto dx = gradients(ReduceOp::sum);
  for (const Tensor& own : dx.local_results()) test::expect_close(own, {1.0 * sum, 10.0 * sum}, replicas_);
}

TEST_P(ReplicaContextOf, GradientOfAnAllReducedMeanIsTheMeanOfTheGradients) {
  const double mean = (replicas_ + 1) / 2.0;
  const auto dx = gradients(ReduceOp::mean);
  for (const Tensor& own : dx.local_results()) test::expect_close(own, {mean, 10 * mean}, replicas_);
}

TEST_P(ReplicaContextOf, AllReducedExtremesHaveNoGradientAndSaySo) {
  EXPECT_THAT([&] { gradients(ReduceOp::max); }, ThrowsMessage<Unsupported>(HasSubstr("all_reduce of max")));
  strategy_.run([] { get_replica_context().all_reduce(ReduceOp::max, Tensor::zeros({2})); });
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicaContextOf, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
