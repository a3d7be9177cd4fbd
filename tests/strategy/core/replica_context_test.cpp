#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

using test::mirrored;
using testing::HasSubstr;
using testing::ThrowsMessage;

// semantics 1.3: cross-replica
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

// semantics 2.9, 4.4
TEST_P(ReplicaContextOf, KnowsItsPlace) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    EXPECT_EQ(context.num_replicas_in_sync(), replicas_);
    EXPECT_EQ(context.strategy(), strategy_);
    EXPECT_LT(context.replica_id_in_sync_group(), replicas_);
  });
}

// semantics 4.1: gradient
TEST_P(ReplicaContextOf, GradientOfAnAllReducedSumIsTheSumOfTheGradients) {
  const int sum = replicas_ * (replicas_ + 1) / 2;
  const auto dx = gradients(ReduceOp::sum);
  for (const Tensor& own : dx.local_results()) test::expect_close(own, {1.0 * sum, 10.0 * sum}, replicas_);
}

// semantics 4.1: gradient
TEST_P(ReplicaContextOf, GradientOfAnAllReducedMeanIsTheMeanOfTheGradients) {
  const double mean = (replicas_ + 1) / 2.0;
  const auto dx = gradients(ReduceOp::mean);
  for (const Tensor& own : dx.local_results()) test::expect_close(own, {mean, 10 * mean}, replicas_);
}

TEST_P(ReplicaContextOf, AllReducedExtremesAndProductsHaveNoGradientAndSaySo) {
  EXPECT_THAT([&] { gradients(ReduceOp::max); }, ThrowsMessage<Unsupported>(HasSubstr("all_reduce of max")));
  EXPECT_THAT([&] { gradients(ReduceOp::prod); }, ThrowsMessage<Unsupported>(HasSubstr("all_reduce of prod")));
  strategy_.run([] { get_replica_context().all_reduce(ReduceOp::max, Tensor::zeros({2})); });
}

TEST_P(ReplicaContextOf, AllReduceTakesNumbersAndOpsByName) {
  // semantics 4.1, better: convert scalars; 12.11: an unknown op. TF case 39: ReplicaCtxAllReduceTest, ones with the op
  // as text -> R
  const auto results = strategy_.run([] {
    const ReplicaContext context = get_replica_context();
    return std::vector{context.all_reduce("SUM", Tensor::full({}, 1)), context.all_reduce("Mean", 2.5)};
  });
  for (const std::vector<Tensor>& own : results.local_results()) {
    EXPECT_EQ(own[0].item<float>(), static_cast<float>(replicas_));
    EXPECT_EQ(own[1].item<float>(), 2.5F);
    EXPECT_EQ(own[1].rank(), 0);
  }
  EXPECT_THAT([&] { strategy_.run([] { get_replica_context().all_reduce("total", 1.0); }); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'total' is no reduction")));
}

TEST_P(ReplicaContextOf, AllReducesAVariablesValue) {
  // TF case 38: vars_test testAllReduce, a variable of 2.0: all_reduce SUM of it + r -> 2R + r
  const Variable v = strategy_.scope([] { return test::variable_of("v", Tensor::full({}, 2)); });
  const auto results = strategy_.run([&] {
    return get_replica_context().all_reduce(ReduceOp::sum, v.value()) + static_cast<double>(test::this_replica());
  });
  for (int replica = 0; replica < replicas_; ++replica)
    EXPECT_EQ(results[replica].item<float>(), static_cast<float>(2 * replicas_ + replica));
}

TEST_P(ReplicaContextOf, GradientsOfAListAreTheListsOfAllReducedGradients) {
  // semantics 4.1: the gradient of all_reduce, kept structure; a whole number among them has none
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    const auto dx = strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      const double scale = context.replica_id_in_sync_group() + 1;
      const std::vector<Tensor> x{Tensor::full({2}, 1), Tensor::full({3}, 2, DType::bf16), Tensor::full({1, 2}, 3)};
      GradientTape tape;
      for (const Tensor& value : x) tape.watch(value);
      const std::vector<Tensor> reduced = context.all_reduce(op, x);
      // Only the last replica's target depends on the last tensor; no target depends on the second.
      Tensor target = sum(reduced[0]) * scale;
      if (context.replica_id_in_sync_group() == replicas_ - 1) target = target + sum(reduced[2]);
      return tape.gradient(target, x);
    });
    const double all = replicas_ * (replicas_ + 1) / 2.0;
    const double divisor = op == ReduceOp::mean ? replicas_ : 1;
    for (const std::vector<Tensor>& own : dx.local_results()) {
      test::expect_close(own[0], {all / divisor, all / divisor}, replicas_);
      EXPECT_EQ(own[1].to_vector<float>(), (std::vector<float>{0, 0, 0}));
      test::expect_close(own[2], {1 / divisor, 1 / divisor}, replicas_);
    }
  }
}

TEST_P(ReplicaContextOf, WholeNumbersBesideAWatchedTensorHaveNoGradient) {
  strategy_.run([&] {
    const Tensor x = Tensor::full({}, 3);
    GradientTape tape;
    tape.watch(x);
    const auto reduced = get_replica_context().all_reduce("sum", std::vector{Tensor::full({2}, 5, DType::i32), x});
    EXPECT_EQ(reduced[0].to_vector<int>(), std::vector<int>(2, 5 * replicas_));
    const Tensor dx = tape.gradient(reduced[1], std::vector{x}).front();
    EXPECT_EQ(dx.item<float>(), static_cast<float>(replicas_));
  });
}

TEST(ReplicaContextOfTwo, AllReducesAsTensorFlow) {
  // TF case 36: _test_all_reduce_sum / mean
  const auto inputs =
      PerReplica(std::vector<std::vector<Tensor>>{{Tensor::full({}, 1), Tensor::from(std::vector<float>{39, 2}, {2})},
                                                  {Tensor::full({}, 3), Tensor::from(std::vector<float>{3, 41}, {2})}});
  const auto reduced = [&](const char* op) {
    return mirrored(2).run([&](const std::vector<Tensor>& own) { return get_replica_context().all_reduce(op, own); },
                           inputs);
  };
  for (const auto& [op, number, numbers] :
       {std::tuple{"sum", 4.0F, std::vector{42.0F, 43.0F}}, std::tuple{"mean", 2.0F, std::vector{21.0F, 21.5F}}}) {
    const auto results = reduced(op);
    for (const std::vector<Tensor>& own : results.local_results()) {
      EXPECT_EQ(own[0].item<float>(), number);
      EXPECT_EQ(own[1].to_vector<float>(), numbers);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicaContextOf, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
