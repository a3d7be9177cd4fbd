#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Example i has i elements of value i in x, and y of shape (1, i).
Dataset lengths(std::int64_t n) {
  return numbers(n).map([](const Example& e) {
    const float number = e.x().item<float>();
    const auto size = static_cast<std::int64_t>(number);
    return Example{{Tensor::full({size}, number)}, {Tensor::full({1, size}, number, DType::i32)}};
  });
}

/// The example of tf.data's documentation of padded_batch.
TEST(DatasetPaddedBatch, PadsToTheLongestOfTheBatch) {
  DatasetIterator pass = lengths(5).skip(1).padded_batch(2).epoch();
  const Batch first = pass.next().value();
  EXPECT_EQ(first.x().shape(), (Shape{2, 2}));
  EXPECT_THAT(first.x().to_vector<float>(), ElementsAre(1, 0, 2, 2));
  EXPECT_EQ(first.y().shape(), (Shape{2, 1, 2}));
  const Batch second = pass.next().value();
  EXPECT_THAT(second.x().to_vector<float>(), ElementsAre(3, 3, 3, 0, 4, 4, 4, 4));
  EXPECT_THAT(second.y().to_vector<int>(), ElementsAre(3, 3, 3, 0, 4, 4, 4, 4));
}

TEST(DatasetPaddedBatch, PadsToAGivenShapeWithAGivenValue) {
  const Dataset set = lengths(5).skip(1).padded_batch(
      2, {.inputs = {{.shape = {5}, .value = -1}}, .targets = {{.shape = {2, -1}, .value = 7}}});
  const Batch first = set.epoch().next().value();
  EXPECT_THAT(first.x().to_vector<float>(), ElementsAre(1, -1, -1, -1, -1, 2, 2, -1, -1, -1));
  EXPECT_EQ(first.y().shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(first.y().to_vector<int>(), ElementsAre(1, 7, 7, 7, 2, 2, 7, 7));
}

TEST(DatasetPaddedBatch, TakesScalarsAndStridedAndEmptyExamples) {
  EXPECT_THAT(read(numbers(3).padded_batch(2)), ElementsAre(0, 1, 2));
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5}, {2, 3});
  const Dataset columns = numbers(3).map([&](const Example& e) {
    return Example{{x.transposed_view().slice_view(0, 0, static_cast<std::int64_t>(e.x().item<float>()))}};
  });
  EXPECT_THAT(read(columns.padded_batch(3)), ElementsAre(0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 1, 4));
}

TEST(DatasetPaddedBatch, CountsAndDropsAsBatch) {
  EXPECT_EQ(lengths(7).padded_batch(3).size(), 3);
  EXPECT_THAT(test::batch_sizes(lengths(7).padded_batch(3)), ElementsAre(3, 3, 1));
  EXPECT_THAT(test::batch_sizes(lengths(7).padded_batch(3, {.drop_remainder = true})), ElementsAre(3, 3));
  EXPECT_EQ(lengths(7).padded_batch(3, {.drop_remainder = true}).dropped_rows(), 1);
  EXPECT_THAT([] { (void)numbers(2).padded_batch(0); }, ThrowsMessage<InvalidArgument>(HasSubstr("got 0")));
}

TEST(DatasetPaddedBatch, RefusesWhatCannotBePadded) {
  const auto first_batch = [](const Dataset& set, const PaddedBatchOptions& options = {}) {
    return [=] { (void)set.padded_batch(9, options).epoch().next(); };
  };
  EXPECT_THAT(first_batch(lengths(5), {.inputs = {{.shape = {3}}}}),
              ThrowsMessage<InvalidArgument>(HasSubstr("pads inputs to (3), an example has 4 along axis 0")));
  EXPECT_THAT(first_batch(lengths(5), {.targets = {{.shape = {3}}}}),
              ThrowsMessage<InvalidArgument>(HasSubstr("pads targets to a shape of 1 axes, got i32 (1, 0)")));
  EXPECT_THAT(first_batch(lengths(5), {.targets = {{.value = 0.5}}}),
              ThrowsMessage<InvalidArgument>(HasSubstr("pads targets with 0.5, which i32 cannot represent")));
  EXPECT_THAT(first_batch(lengths(5), {.sample_weights = {{}}}),
              ThrowsMessage<InvalidArgument>(HasSubstr("paddings for 1 sample weights, an example has 0")));
  EXPECT_THAT(first_batch(lengths(2).concatenate(numbers(1))),
              ThrowsMessage<InvalidArgument>(HasSubstr("need inputs of one rank and dtype, got f32 (0)")));
  const Dataset without_y = numbers(1).map([](const Example& e) { return Example{{e.x().view({1})}}; });
  EXPECT_THAT(first_batch(lengths(2).concatenate(without_y)),
              ThrowsMessage<InvalidArgument>(HasSubstr("need as many targets, got 1 and 0")));
  const Dataset undefined_y = numbers(2).map([](const Example& e) { return Example{e.inputs, {Tensor()}}; });
  EXPECT_THAT(first_batch(undefined_y), ThrowsMessage<InvalidArgument>(HasSubstr("has an undefined tensor")));
}

}  // namespace
}  // namespace lockstep
