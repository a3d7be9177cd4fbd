#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/strategy/input/distributed_batch.h>

#include "input_testing.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

TEST(DistributedBatch, OfXAloneHasNoY) {
  const DistributedBatch batch({{Tensor::zeros({3, 2})}}, 2);
  EXPECT_FALSE(batch.local_results()[0].y().defined());
}

TEST(DistributedBatch, FollowsTheShares) {
  const DistributedBatch batch({{Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5}, {6})}}, 2,
                               std::vector<double>{1, 2});
  EXPECT_THAT(test::parts_of(batch), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3, 4, 5)));
}

// semantics 6.3: replicas without rows get tensors of no rows, of the right dtype and trailing shape.
TEST(DistributedBatch, AReplicaWithoutABatchGetsOneOfNoRows) {
  const Batch only{{Tensor::zeros({2, 5})}, {Tensor::zeros({2, 1}, DType::i64)}};
  const DistributedBatch batch(std::vector<std::optional<Batch>>{std::nullopt, only});
  EXPECT_EQ(batch.global_size(), 2);
  const Batch& none = batch.local_results()[0];
  EXPECT_EQ(none.x().shape(), (Shape{0, 5}));
  EXPECT_EQ(none.y().shape(), (Shape{0, 1}));
  EXPECT_EQ(none.y().dtype(), DType::i64);
}

TEST(DistributedBatch, CutsAllInputsAndTargets) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4}, {5});
  const DistributedBatch batch({{x, x, x.view({5, 1})}, {x, x}, {x}}, 2);
  for (const Batch& part : batch.local_results()) {
    ASSERT_EQ(part.inputs.size(), 3U);
    EXPECT_EQ(part.inputs[2].shape(), (Shape{part.size(), 1}));
    ASSERT_EQ(part.targets.size(), 2U);
    for (const Tensor& tensor : {part.sample_weight(), part.inputs[1], part.inputs[2], part.targets[1]})
      EXPECT_EQ(tensor.to_vector<float>(), part.x().to_vector<float>());
  }
}

TEST(DistributedBatch, OfOwnRowsIsTheOneOfTheWholeBatch) {
  const std::vector<double> unequal{1, 0.5, 3, 2};
  for (const std::int64_t rows : {1, 2, 3, 4, 11})
    for (const std::vector<double>& shares : {std::vector<double>{}, unequal})
      for (const LocalReplicas at : {LocalReplicas{4, 0, 2}, LocalReplicas{4, 2, 2}, LocalReplicas{4, 3, 1}}) {
        const Batch whole = test::range(rows).batch(rows).epoch().next().value();
        const RowRange own = local_rows(rows, at, shares);
        EXPECT_LT(own.begin, own.end) << "a row also where it has none";
        const DistributedBatch batch({{whole.x().slice_view(0, own.begin, own.end)}}, rows, at, shares);
        EXPECT_EQ(batch.global_size(), rows);
        EXPECT_EQ(test::parts_of(batch), test::parts_of(DistributedBatch(whole, at, shares)));
      }
}

TEST(DistributedBatch, NeedsAllOfItsOwnRows) {
  EXPECT_ERROR(InvalidArgument, "3 row(s) of a batch of 6 became 2",
               DistributedBatch({{Tensor::zeros({2})}}, 6, LocalReplicas{.in_sync = 2, .first = 1, .count = 1}));
}

TEST(DistributedBatch, RefusesWhatIsNoBatch) {
  EXPECT_ERROR(InvalidArgument, "inputs of a batch must have equally many rows",
               DistributedBatch({{Tensor::zeros({3}), Tensor::zeros({2})}}, 2));
  EXPECT_ERROR(InvalidArgument, "x and y of a batch must have equally many rows",
               DistributedBatch({{Tensor::zeros({3})}, {Tensor::zeros({3}), Tensor::zeros({2})}}, 2));
  for (const Shape& shape : {Shape{5}, Shape{1, 6}, Shape{3, 2}})
    EXPECT_ERROR(InvalidArgument,
                 fmt::format("a batch of 6 rows needs sample weights (6) or (6, 1), got f32 {}", shape),
                 DistributedBatch({{Tensor::zeros({6})}, {}, {Tensor::zeros(shape)}}, 2));
  EXPECT_ERROR(InvalidArgument, "needs an input", DistributedBatch(Batch(), 2));
  EXPECT_ERROR(InvalidArgument, "has an undefined tensor", DistributedBatch({{Tensor::zeros({3})}, {Tensor()}}, 2));
  EXPECT_ERROR(InvalidArgument, "call batch()", DistributedBatch({{Tensor::zeros({})}}, 2));
  EXPECT_ERROR(InvalidArgument, "call batch()", DistributedBatch({{Tensor::zeros({3})}, {Tensor::zeros({})}}, 2));
  EXPECT_ERROR(InvalidArgument, "equally many rows", DistributedBatch({{Tensor::zeros({3})}, {Tensor::zeros({2})}}, 2));
}

}  // namespace
}  // namespace lockstep
