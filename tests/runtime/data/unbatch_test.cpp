#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Example strided(const Batch& batch) { return batch.with_x(batch.x().transposed_view(0, 1)); }

TEST(DatasetUnbatch, GivesTheRowsOfBatches) {
  const Dataset set = numbers(7).batch(3).unbatch();
  EXPECT_THAT(read(set), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(test::batch_sizes(set.batch(4)), ElementsAre(4, 3));
  const Example element = set.epoch().next().value();
  EXPECT_EQ(element.x().shape(), Shape{});
  EXPECT_EQ(element.y().shape(), Shape{});
}

TEST(DatasetUnbatch, GivesViews) {
  const Tensor x = Tensor::zeros({6, 2});
  const Dataset set = Dataset::from_tensors(x).batch(3).unbatch();
  EXPECT_EQ(set.skip(4).epoch().next()->x().data<float>(), x.data<float>() + 8);
  EXPECT_EQ(set.batch(3).skip(1).epoch().next()->x().data<float>(), x.data<float>() + 6);
}

TEST(DatasetUnbatch, KnowsItsSizeIfThatOfEachBatchIsKnown) {
  const auto same = [](const Batch& batch) { return batch; };
  EXPECT_EQ(numbers(7).batch(3).unbatch().size(), 7);
  EXPECT_EQ(numbers(7).batch(3, true).unbatch().size(), 6);
  EXPECT_EQ(numbers(7).batch(3).repeat(2).skip(1).unbatch().size(), 11);
  EXPECT_EQ(numbers(7).batch(3).map(same).unbatch().size(), std::nullopt);
  EXPECT_EQ(numbers(7).batch(3).map(RowTransform(same)).unbatch().size(), 7);
  EXPECT_EQ(numbers(7).padded_batch(3).shuffle().unbatch().size(), 7);
  EXPECT_EQ(numbers(7).padded_batch(3).shuffle().take(1).unbatch().size(), std::nullopt);
  EXPECT_EQ(numbers(7).batch(3).cache("unused.cache").unbatch().size(), 7);
  EXPECT_TRUE(numbers(7).batch(3).repeat().unbatch().is_endless());
  EXPECT_EQ(numbers(7).batch(3, true).unbatch().dropped_rows(), 1);
  EXPECT_EQ(Dataset::from_tensors(Tensor::zeros({3, 2})).shuffle().unbatch().size(), 6);
  EXPECT_EQ(Dataset::from_tensors(Tensor::zeros({3, 2}), Tensor::zeros({3, 4})).unbatch().size(), std::nullopt);
  EXPECT_EQ(Dataset::from_tensors(Tensor::zeros({3, 2}), Tensor::zeros({3})).unbatch().size(), std::nullopt);
}

TEST(DatasetUnbatch, KnowsItsSizeAfterSeveralBatches) {
  const Dataset nested = numbers(13).batch(3, true).batch(2).unbatch();
  EXPECT_EQ(nested.size(), 4);
  EXPECT_EQ(nested.unbatch().size(), 12);
  EXPECT_EQ(nested.take(3).unbatch().size(), std::nullopt) << "these end within a batch of batches";
  const Dataset of_images = Dataset::from_tensors(Tensor::zeros({5, 3, 2})).batch(4).unbatch().skip(4);
  EXPECT_EQ(of_images.unbatch().size(), 3);
  EXPECT_EQ(of_images.unbatch().unbatch().size(), 6);
}

TEST(DatasetUnbatch, OfAnyNumberOfBatchesKnowsItsSizeAtOnce) {
  constexpr std::int64_t many = 1'000'000'000'000'000;
  const Dataset set = numbers(7).batch(3).repeat(many).skip(2).unbatch();
  EXPECT_EQ(set.size(), 7 * many - 6);
  EXPECT_EQ(numbers(7).batch(3).repeat(many).repeat(1'000'000).unbatch().size(), std::nullopt) << "more than 2^63";
  EXPECT_THAT(read(set.take(3)), ElementsAre(6, 0, 1));
  Dataset skipped = numbers(7).batch(3).repeat(many);
  for (int i = 0; i < 64; ++i) skipped = skipped.skip(1);
  EXPECT_EQ(skipped.unbatch().size(), 7 * many - 21 * 7 - 3);
}

TEST(DatasetUnbatch, DoesNotMakeBatchesThatAreSkipped) {
  const ComputeThreadsScope one(1);
  int made = 0;
  const Dataset set = numbers(20).batch(4).map(RowTransform([&](const Batch& batch) {
    ++made;
    return batch;
  }));
  EXPECT_THAT(read(set.unbatch().skip(13).take(2)), ElementsAre(13, 14));
  EXPECT_EQ(made, 1);
}

TEST(DatasetUnbatch, TakesStridedBatches) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5}, {2, 3});
  const Dataset set = Dataset::from_tensors(x).batch(2).map(strided).unbatch();
  EXPECT_THAT(read(set), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(DatasetUnbatch, NeedsRows) {
  EXPECT_THAT([] { read(numbers(3).unbatch()); }, ThrowsMessage<InvalidArgument>(HasSubstr("unbatch, element 0: ")));
  const auto uneven = [](const Batch& batch) { return batch.with_y(Tensor::zeros({1})); };
  EXPECT_THAT([&] { read(numbers(3).batch(2).map(uneven).unbatch()); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("unbatch, element 0: the tensors of a batch need equally many rows, got f32 (2)")));
}

}  // namespace
}  // namespace lockstep
