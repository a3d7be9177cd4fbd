#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/thread/device_scope.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(Dataset, GivesTheRowsOfItsTensorsAsViews) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = Tensor::from(std::vector<std::int32_t>{7, 8, 9}, {3});
  DatasetIterator pass = Dataset::from_tensors(x, y).epoch();
  (void)pass.next();
  const Example second = pass.next().value();
  EXPECT_EQ(second.x().shape(), Shape{2});
  EXPECT_EQ(second.y().shape(), Shape{});
  EXPECT_EQ(second.x().data<float>(), x.data<float>() + 2);
  EXPECT_EQ(second.y().item<std::int32_t>(), 8);
}

TEST(Dataset, NeedsNoY) {
  const Dataset set = Dataset::from_tensors(Tensor::zeros({2, 3}));
  for (const Example& example : set.epoch()) EXPECT_FALSE(example.y().defined());
  for (const Batch& batch : set.shuffle().batch(2).epoch()) EXPECT_FALSE(batch.y().defined());
}

TEST(Dataset, RejectsTensorsThatAreNoRowsOfExamples) {
  const Tensor x = Tensor::zeros({3, 4});
  EXPECT_THROW(Dataset::from_tensors(Tensor()), InvalidArgument);
  EXPECT_THROW(Dataset::from_tensors(Tensor::scalar(1.0F)), InvalidArgument);
  EXPECT_THROW(Dataset::from_tensors(x.slice_view(1, 0, 2)), InvalidArgument);
  EXPECT_THAT([&] { Dataset::from_tensors(x, Tensor::zeros({2})); },
              ThrowsMessage<InvalidArgument>(HasSubstr("equally many rows")));
}

TEST(Dataset, MayBeEmpty) {
  EXPECT_THAT(read(numbers(0).shuffle().batch(3)), IsEmpty());
  EXPECT_EQ(numbers(0).size(), 0);
}

TEST(Dataset, IsAValueThatItsMethodsLeaveAlone) {
  const Dataset set = numbers(4);
  const Dataset taken = set.take(2);
  EXPECT_THAT(read(set), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(read(taken), ElementsAre(0, 1));
}

TEST(Dataset, PassesAreIndependent) {
  const Dataset set = numbers(4).shuffle().batch(2);
  DatasetIterator first = set.epoch();
  (void)first.next();
  const std::vector<float> second = read(set);
  EXPECT_EQ(second.size(), 4U);
  EXPECT_EQ(read(std::move(first)), (std::vector<float>{second[2], second[3]}));
}

TEST(Dataset, APassOutlivesTheSetAndItsTensors) {
  DatasetIterator pass = numbers(5).map(test::negated).shuffle({.buffer = 2}).batch(2).repeat(1).prefetch().epoch();
  EXPECT_EQ(read(std::move(pass)).size(), 5U);
}

TEST(Dataset, AnIteratorCanBeReplacedInTheMiddle) {
  DatasetIterator pass = numbers(5).prefetch().epoch();
  (void)pass.next();
  pass = numbers(2).epoch();
  EXPECT_THAT(read(std::move(pass)), ElementsAre(0, 1));
}

TEST(Dataset, StaysAtItsEnd) {
  DatasetIterator pass = numbers(1).epoch();
  EXPECT_TRUE(pass.next());
  EXPECT_FALSE(pass.next());
  EXPECT_FALSE(pass.next());
}

TEST(DatasetTake, GivesTheFirst) {
  EXPECT_THAT(read(numbers(5).take(3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(read(numbers(2).take(3)), ElementsAre(0, 1));
  EXPECT_THAT(read(numbers(2).take(0)), IsEmpty());
  EXPECT_THROW((void)numbers(2).take(-1), InvalidArgument);
}

TEST(DatasetSkip, GivesWhatTakeLeaves) {
  for (const std::int64_t count : {0, 2, 5, 9}) {
    const Dataset set = numbers(5).skip(count);
    const Dataset first = numbers(5).take(count);
    EXPECT_EQ(*set.size() + *first.size(), 5);
    std::vector<float> all = read(first);
    const std::vector<float> rest = read(set);
    EXPECT_EQ(static_cast<std::int64_t>(rest.size()), set.size());
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4));
  }
  EXPECT_THAT(read(numbers(2).repeat().skip(3).take(2)), ElementsAre(1, 0));
  EXPECT_EQ(numbers(2).repeat().skip(3).size(), std::nullopt);
  EXPECT_EQ(numbers(5).batch(2, true).skip(1).dropped_rows(), 1);
  EXPECT_THAT(test::batch_sizes(numbers(9).skip(4).batch(2)), ElementsAre(2, 2, 1));
  EXPECT_THROW((void)numbers(2).skip(-1), InvalidArgument);
}

TEST(DatasetTake, CutsBatchesToo) {
  EXPECT_THAT(test::batch_sizes(numbers(9).take(5).batch(2)), ElementsAre(2, 2, 1));
  EXPECT_THAT(test::batch_sizes(numbers(9).batch(2).take(3)), ElementsAre(2, 2, 2));
}

TEST(DatasetRepeat, GivesTheElementsOverAndOver) {
  EXPECT_THAT(read(numbers(2).repeat(3)), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(read(numbers(2).repeat().take(5)), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(read(numbers(2).repeat(0)), IsEmpty());
  EXPECT_EQ(numbers(2).repeat().repeat(0).size(), 0);
  EXPECT_THROW((void)numbers(2).repeat(-1), InvalidArgument);
}

TEST(DatasetRepeat, OfNothingEnds) { EXPECT_THAT(read(numbers(0).repeat()), IsEmpty()); }

TEST(DatasetRepeat, BatchesMayReachOverItsSeams) {
  EXPECT_THAT(test::batch_sizes(numbers(3).repeat(2).batch(4)), ElementsAre(4, 2));
  EXPECT_THAT(read(numbers(3).repeat(2).batch(4)), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(DatasetRepeat, EachTimeIsAnEpochOfItsOwn) {
  const Dataset shuffled = numbers(20).shuffle({.seed = 5});
  std::vector<float> expected = read(shuffled, 4);
  for (const float value : read(shuffled, 5)) expected.push_back(value);
  EXPECT_EQ(read(shuffled.repeat(2), 2), expected);
  EXPECT_EQ(read(shuffled.repeat().take(20)), read(shuffled, 0));
}

std::vector<float> peeked(const Dataset& set) { return set.peek().value().x().to_vector<float>(); }

TEST(DatasetPeek, IsTheFirstElementOfAPass) {
  const Dataset set = numbers(10);
  EXPECT_THAT(peeked(set.map(test::negated).skip(2).batch(3).cache().repeat().prefetch()), ElementsAre(-2, -3, -4));
  EXPECT_EQ(peeked(set.shuffle().batch(3)), set.shuffle().batch(3).epoch().next()->x().to_vector<float>());
  EXPECT_THAT(peeked(set.take(0).concatenate(set.skip(7)).batch(2)), ElementsAre(7, 8));
  EXPECT_THAT(peeked(Dataset::zip({set.window(2), set.batch(3).unbatch().batch(2)})), ElementsAre(0, 1));
  const Dataset rows = Dataset::from_rows(
      [](std::int64_t begin, std::int64_t) { return Batch{{Tensor::full({1}, static_cast<double>(begin))}}; }, 5);
  EXPECT_THAT(peeked(rows.skip(3).padded_batch(1)), ElementsAre(3));
  EXPECT_FALSE(set.take(0).peek());
  EXPECT_FALSE(set.prefetch().skip(2).peek());
}

TEST(DatasetPeek, CallsNoGeneratorAndNoFilter) {
  const auto never = [](const auto&) -> DatasetIterator { throw std::logic_error("a pass began"); };
  const Dataset generated = Dataset::from_generator(never, 3);
  for (const Dataset& set : {generated, generated.batch(2).repeat(), numbers(2).concatenate(generated),
                             numbers(2).filter([](const Example&) -> bool { throw std::logic_error("filtered"); })})
    EXPECT_FALSE(set.peek());
}

TEST(DatasetSize, IsKnownUnlessTheSetNeverEnds) {
  const Dataset set = numbers(10);
  EXPECT_EQ(set.size(), 10);
  EXPECT_EQ(set.map(test::negated).shuffle().prefetch().size(), 10);
  EXPECT_EQ(set.batch(4).size(), 3);
  EXPECT_EQ(set.batch(4, true).size(), 2);
  EXPECT_EQ(set.batch(5).size(), 2);
  EXPECT_EQ(set.take(4).size(), 4);
  EXPECT_EQ(set.take(40).size(), 10);
  EXPECT_EQ(set.repeat(3).size(), 30);
  EXPECT_EQ(set.repeat().size(), std::nullopt);
  EXPECT_EQ(set.repeat().batch(3).size(), std::nullopt);
  EXPECT_EQ(set.repeat().take(100).size(), 100);
  EXPECT_EQ(numbers(0).repeat().size(), 0);
}

TEST(Dataset, KnowsWhetherItsElementsAreBatchesOfRows) {
  const Dataset set = numbers(6);
  const test::TemporaryFolder folder;
  const auto in_batches = [](const Dataset& data) {
    RowTensors tensors;
    const Dataset rows = data.row_numbers(tensors).value();
    EXPECT_EQ(rows.epoch().next()->x().rank(), tensors.in_batches ? 1 : 0);
    return tensors.in_batches;
  };
  for (const Dataset& rows :
       {set, set.cache().shuffle(), set.shuffle().repeat(2), set.batch(2).cache(folder / "cache")})
    EXPECT_FALSE(in_batches(rows));
  for (const Dataset& batches : {set.batch(4), set.cache().batch(4).shuffle(), set.batch(4).cache().skip(1),
                                 set.batch(4).prefetch(), set.batch(2).cache(folder / "cache").batch(2)})
    EXPECT_TRUE(in_batches(batches));
}

// As tf.data in tf.device. Nothing is put on the GPU, so that there need not be one.
TEST(Dataset, StaysInHostMemoryInADeviceScopeOfAGpu) {
  const Dataset set = numbers(6);
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(read(set.map(test::negated).batch(4)), ElementsAre(0, -1, -2, -3, -4, -5));
  EXPECT_THAT(read(set.padded_batch(4).prefetch()), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(read(set.shuffle({.fixed_parts = true}).batch(4)).size(), 6U);
  EXPECT_EQ(set.shuffle().batch(2).peek()->size(), 2);
  RowTensors tensors;
  EXPECT_EQ(read(set.cache().row_numbers(tensors).value().batch(4)).size(), 6U);
  EXPECT_THAT(tensors.tensors().x().to_vector<int>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace lockstep
