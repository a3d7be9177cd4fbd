#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/models/losses/average_loss.h>

// Losses over uneven batches.

namespace lockstep {
namespace {

using test::mirrored;

const PerReplica<Tensor> uneven(std::vector{Tensor::from<float>({1, 2, 3}, {3}), Tensor::from<float>({4, 5}, {2}),
                                            Tensor::zeros({0})});

float average(const AverageLossOptions& options) {
  const MirroredStrategy strategy = mirrored(3);
  const auto shares = strategy.run([&](const Tensor& own) { return compute_average_loss(own, options); }, uneven);
  return strategy.reduce(ReduceOp::sum, shares).item<float>();
}

// semantics 8.1, 14.6, 15.2: 3.0
TEST(ComputeAverageLoss, OfTheGlobalBatchIsExactForUnevenAndEmptyReplicas) {
  EXPECT_FLOAT_EQ(average({.global_batch_size = 5}), 3);
}

// semantics 8.1, 14.6: 2.167 without G
TEST(ComputeAverageLoss, TakesEvenBatchesWhenNotTold) { EXPECT_FLOAT_EQ(average({}), 2.0F / 3 + 1.5F); }

// semantics 8.1: G = 0 gives 0
TEST(ComputeAverageLoss, OfNoExamplesIsZero) {
  const auto share = compute_average_loss(Tensor::zeros({0}), {.global_batch_size = 0});
  EXPECT_EQ(share.item<float>(), 0);
}

TEST(ComputeAverageLoss, WeighsExamples) {
  const Tensor losses = Tensor::from<float>({1, 2, 4}, {3});
  const AverageLossOptions options{.sample_weight = Tensor::from<float>({1, 0, 0.5}, {3}), .global_batch_size = 6};
  EXPECT_FLOAT_EQ(compute_average_loss(losses, options).item<float>(), 0.5F);
}

// semantics 8.1: G >= 0; cross-replica call
TEST(ComputeAverageLoss, RefusesWhatHasNoMeaning) {
  const Tensor losses = Tensor::zeros({3});
  EXPECT_ERROR(InvalidArgument, "one loss for each example", compute_average_loss(Tensor::zeros({})));
  EXPECT_ERROR(InvalidArgument, "weights of the losses' shape (3)",
               compute_average_loss(losses, {.sample_weight = Tensor::zeros({2})}));
  EXPECT_ERROR(InvalidArgument, "at least 0 examples, got -1", compute_average_loss(losses, {.global_batch_size = -1}));
  const MirroredStrategy strategy = mirrored(2);
  const auto inside = strategy.scope();
  EXPECT_ERROR(LogicError, "there is no replica here", compute_average_loss(losses));
  EXPECT_ERROR(LogicError, "there is no replica here", scale_regularization_loss(losses));
}

// semantics 8.1
TEST(ScaleRegularizationLoss, CountsOnceOverAllReplicas) {
  const MirroredStrategy strategy = mirrored(3);
  const auto shares = strategy.run([] { return scale_regularization_loss(Tensor::from<float>({1, 5}, {2})); });
  EXPECT_FLOAT_EQ(strategy.reduce(ReduceOp::sum, shares).item<float>(), 6);
}

}  // namespace
}  // namespace lockstep
