#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(DatasetBatch, GroupsRowsAndGivesTheRestLast) {
  EXPECT_THAT(test::batch_sizes(numbers(7).batch(3)), ElementsAre(3, 3, 1));
  EXPECT_THAT(test::batch_sizes(numbers(6).batch(3)), ElementsAre(3, 3));
  EXPECT_THAT(test::batch_sizes(numbers(2).batch(3)), ElementsAre(2));
  EXPECT_THAT(read(numbers(7).batch(3)), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(DatasetBatch, DropsTheRestWhenAsked) {
  EXPECT_THAT(test::batch_sizes(numbers(7).batch(3, true)), ElementsAre(3, 3));
  EXPECT_THAT(test::batch_sizes(numbers(2).batch(3, true)), ElementsAre());
}

TEST(DatasetBatch, MayDropElementsOfAnotherShape) {
  EXPECT_THAT(test::batch_sizes(numbers(8).batch(3).batch(2, true)), ElementsAre(2));
  const auto same = [](const Batch& batch) { return batch; };
  const Dataset unknown = numbers(4).filter([](const Example&) { return true; }).batch(3).map(same);
  EXPECT_THAT(test::batch_sizes(unknown.batch(3, true)), IsEmpty());
  EXPECT_THAT(test::batch_sizes(unknown.padded_batch(3, {.inputs = {{.shape = {2}}}, .drop_remainder = true})),
              IsEmpty());
}

TEST(DatasetBatch, DoesNotMapWhatItDrops) {
  int made = 0;
  const ComputeThreadsScope one(1);
  const auto count = [&](const Example& e) {
    ++made;
    return e;
  };
  EXPECT_THAT(test::batch_sizes(numbers(11).map(count).batch(4, true)), ElementsAre(4, 4));
  EXPECT_EQ(made, 8);
}

TEST(DatasetBatch, NeedsARow) {
  EXPECT_THROW((void)numbers(2).batch(0), InvalidArgument);
  EXPECT_THROW((void)numbers(2).batch(-1), InvalidArgument);
}

TEST(DatasetBatch, AddsALeadingAxis) {
  const Dataset images = Dataset::from_tensors(Tensor::zeros({5, 4, 3}, DType::u8), Tensor::zeros({5}));
  for (const Dataset& set : {images, images.shuffle(), images.map([](const Example& e) { return e; })}) {
    const Batch batch = set.batch(2).epoch().next().value();
    EXPECT_EQ(batch.x().shape(), (Shape{2, 4, 3}));
    EXPECT_EQ(batch.x().dtype(), DType::u8);
    EXPECT_EQ(batch.y().shape(), Shape{2});
  }
}

TEST(DatasetBatch, KeepsSampleWeightsBesideTheirExamples) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4}, {5});
  const Dataset set = Dataset::from_tensors(x, x, x);
  for (const Dataset& data : {set, set.shuffle(), set.map([](const Example& e) { return e; })})
    for (const Batch& batch : data.batch(2).epoch()) {
      EXPECT_EQ(batch.sample_weight().shape(), Shape{batch.size()});
      EXPECT_EQ(batch.sample_weight().to_vector<float>(), batch.x().to_vector<float>());
    }
  EXPECT_FALSE(numbers(3).batch(2).epoch().next()->sample_weight().defined());
}

TEST(DatasetBatch, NeedsASampleWeightForEachExampleOrNone) {
  EXPECT_THAT([] { (void)Dataset::from_tensors(Tensor::zeros({3}), {}, Tensor::zeros({2})); },
              ThrowsMessage<InvalidArgument>(HasSubstr("3 examples needs as many sample weights, got f32 (2)")));
  const Dataset some = numbers(4).map([](const Example& e) {
    const std::size_t weights = e.x().item<float>() > 2 ? 1 : 0;
    return Example{e.inputs, e.targets, std::vector<Tensor>(weights, Tensor::scalar(1.0F))};
  });
  EXPECT_THAT([&] { (void)some.batch(4).epoch().next(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must have equal numbers of sample weights, got 0 and 1")));
}

TEST(DatasetBatch, KeepsSeveralInputsTogether) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4}, {5});
  const Dataset set = Dataset::from_tensors({{x, x.view({5, 1}), x}, {x}});
  for (const Dataset& data : {set, set.shuffle(), set.map([](const Example& e) { return e; })})
    for (const Batch& batch : data.batch(2).epoch()) {
      ASSERT_EQ(batch.inputs.size(), 3U);
      EXPECT_EQ(batch.inputs[1].shape(), (Shape{batch.size(), 1}));
      for (const Tensor& input : batch.inputs) EXPECT_EQ(input.to_vector<float>(), batch.y().to_vector<float>());
    }
}

TEST(DatasetBatch, KeepsSeveralTargetsTogether) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4}, {5});
  const Dataset set = Dataset::from_tensors({{x}, {x.view({5, 1}), x}});
  for (const Dataset& data : {set, set.shuffle(), set.map([](const Example& e) { return e; })})
    for (const Batch& batch : data.batch(2).epoch()) {
      ASSERT_EQ(batch.targets.size(), 2U);
      EXPECT_EQ(batch.targets[0].shape(), (Shape{batch.size(), 1}));
      for (const Tensor& target : batch.targets) EXPECT_EQ(target.to_vector<float>(), batch.x().to_vector<float>());
    }
  EXPECT_TRUE(Dataset::from_tensors(x).epoch().next()->targets.empty());
}

TEST(DatasetBatch, NeedsAsManyTargetsOfEachExample) {
  const Tensor x = Tensor::zeros({3});
  EXPECT_THAT(
      [&] {
        (void)Dataset::from_tensors({{x}, {x, Tensor::zeros({2})}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("x and y of a data set need equally many rows")));
  const Dataset some = numbers(4).map([](const Example& e) {
    return Example{e.inputs, std::vector<Tensor>(e.x().item<float>() > 2 ? 2 : 3, e.x())};
  });
  EXPECT_THAT([&] { (void)some.batch(4).epoch().next(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must have equal numbers of targets, got 3 and 2")));
}

TEST(DatasetBatch, OfExamplesWithAnotherXKeepsTheRest) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2}, {3});
  const Tensor other = Tensor::zeros({1});
  const Dataset set = Dataset::from_tensors({{x, x}, {x}, {x}}).map([&](const Example& e) { return e.with_x(other); });
  const Batch batch = set.map([&](const Example& e) { return e.with_y(other); }).batch(3).epoch().next().value();
  EXPECT_EQ(batch.x().shape(), (Shape{3, 1}));
  EXPECT_EQ(batch.y().shape(), (Shape{3, 1}));
  EXPECT_EQ(batch.sample_weight().to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(batch.inputs.at(1).to_vector<float>(), x.to_vector<float>());
}

TEST(DatasetBatch, NeedsAsManyInputsOfEachExample) {
  EXPECT_THAT(
      [] {
        (void)Dataset::from_tensors({{Tensor::zeros({3}), Tensor::zeros({2})}, {}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("inputs of a data set need equally many rows")));
  EXPECT_THAT([] { (void)Dataset::from_tensors(Batch()); },
              ThrowsMessage<InvalidArgument>(HasSubstr("needs an input")));
  const Dataset some = numbers(4).map(
      [](const Example& e) { return Example{std::vector<Tensor>(e.x().item<float>() > 2 ? 2 : 3, e.x())}; });
  EXPECT_THAT([&] { (void)some.batch(4).epoch().next(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must have equal numbers of inputs, got 3 and 2")));
}

TEST(DatasetBatch, OfBatchesStacksOnceMore) {
  const Batch nested = numbers(6).batch(2).batch(3).epoch().next().value();
  EXPECT_EQ(nested.x().shape(), (Shape{3, 2}));
  EXPECT_THAT(nested.x().to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(DatasetBatch, OfATensorInOrderIsAView) {
  const Tensor x = Tensor::zeros({6, 2});
  DatasetIterator pass = Dataset::from_tensors(x).batch(4).epoch();
  EXPECT_EQ(pass.next().value().x().raw_data(), x.raw_data());
  EXPECT_EQ(pass.next().value().x().data<float>(), x.data<float>() + 8);
}

TEST(DatasetBatch, SaysWhatItDrops) {
  const Dataset whole = numbers(11).batch(4);
  const Dataset cut = numbers(11).batch(4, /*drop_remainder=*/true);
  EXPECT_EQ(whole.dropped_rows(), 0);
  EXPECT_EQ(numbers(12).batch(4, true).dropped_rows(), 0);
  EXPECT_EQ(cut.dropped_rows(), 3);
  EXPECT_EQ(cut.map(test::negated).shuffle({.buffer = 1}).prefetch().dropped_rows(), 3);
  EXPECT_EQ(cut.repeat(2).dropped_rows(), 6);
  EXPECT_EQ(cut.repeat().dropped_rows(), 3) << "of one repetition";
  EXPECT_EQ(numbers(11).repeat().batch(4, true).dropped_rows(), 0);
  EXPECT_EQ(cut.unbatch().batch(5, true).dropped_rows(), 3 + 3);
  EXPECT_EQ(numbers(15).batch(4, true).batch(2, true).dropped_rows(), 3 + 1) << "rows and a batch";
  EXPECT_EQ(cut.take(2).dropped_rows(), 3);
  EXPECT_EQ(cut.take(1).dropped_rows(), 0) << "it ends before the remainder";
}

TEST(DatasetBatch, OfAShuffledTensorIsACopy) {
  const Tensor x = Tensor::zeros({6, 2});
  const Batch batch = Dataset::from_tensors(x).shuffle().batch(6).epoch().next().value();
  batch.x().data<float>()[0] = 1;
  EXPECT_THAT(x.to_vector<float>(), testing::Each(0));
}

TEST(DatasetBatch, GathersTheSameRowsOnAnyNumberOfThreads) {
  constexpr std::int64_t row = 20'000;  // long enough for a batch to be split over threads
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < 16 * row; ++i) values.push_back(static_cast<std::int32_t>(i));
  const Dataset set = Dataset::from_tensors(Tensor::from(values, {16, row})).shuffle({.seed = 3}).batch(16);
  const auto first_batch = [&] { return set.epoch().next().value().x().to_vector<std::int32_t>(); };
  const std::vector<std::int32_t> all_cores = first_batch();
  const ComputeThreadsScope one(1);
  EXPECT_EQ(first_batch(), all_cores);
}

TEST(DatasetBatch, CopiesStridedExamples) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 2, 3});
  const Dataset cropped =
      Dataset::from_tensors(x).map([](const Example& image) { return Example{{image.x().slice_view(1, 1, 3)}}; });
  EXPECT_THAT(read(cropped.batch(2)), ElementsAre(1, 2, 4, 5, 7, 8, 10, 11));
}

/// Batches of two examples, which differ because of `second`.
Dataset uneven(Example second) {
  return numbers(2)
      .map([second](const Example& example) { return example.x().item<float>() == 1 ? second : example; })
      .batch(2);
}

TEST(DatasetBatch, RejectsExamplesThatDiffer) {
  const Tensor y = Tensor::scalar<std::int32_t>(0);
  EXPECT_THAT(
      [&] {
        read(uneven({{Tensor::zeros({3})}, {y}}));
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("f32 () on"), HasSubstr("f32 (3) on"))));
  EXPECT_THROW(read(uneven({{Tensor::scalar<std::int64_t>(1)}, {y}})), InvalidArgument);
  EXPECT_THAT([&] { read(uneven({{Tensor::scalar(1.0F)}})); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must have equal numbers of targets, got 1 and 0")));
}

TEST(DatasetBatch, AsksTheSystemForNothingAfterWarmUp) {
  const Dataset batches = numbers(100).map(test::negated).shuffle().batch(8);
  read(batches, 0);
  const std::uint64_t after_warm_up = allocator({}).stats().system_allocations;
  for (std::uint64_t epoch = 1; epoch < 5; ++epoch) read(batches, epoch);
  EXPECT_EQ(allocator({}).stats().system_allocations, after_warm_up);
}

}  // namespace
}  // namespace lockstep
