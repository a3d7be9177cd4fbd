#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(DatasetZip, PutsElementsSideBySide) {
  const Dataset set = Dataset::zip({numbers(3), numbers(5).map(test::negated)});
  DatasetIterator pass = set.skip(2).epoch();
  const Example element = pass.next().value();
  ASSERT_EQ(element.inputs.size(), 2U);
  ASSERT_EQ(element.targets.size(), 2U);
  EXPECT_EQ(element.inputs[0].item<float>(), 2);
  EXPECT_EQ(element.inputs[1].item<float>(), -2);
  EXPECT_EQ(element.targets[1].item<std::int32_t>(), 20);
  EXPECT_FALSE(pass.next());
}

TEST(DatasetZip, EndsWithTheShortest) {
  for (const Dataset& set : {Dataset::zip({numbers(3), numbers(5)}), Dataset::zip({numbers(5), numbers(3)})}) {
    DatasetIterator pass = set.epoch();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(pass.next());
    EXPECT_FALSE(pass.next());
    EXPECT_EQ(set.size(), 3);
    EXPECT_THAT(test::batch_sizes(set.batch(2)), ElementsAre(2, 1));
    EXPECT_THAT(test::batch_sizes(set.batch(9)), ElementsAre(3));
  }
}

TEST(DatasetZip, KnowsItsSizeWhenAllAreKnown) {
  const Dataset some = numbers(5).filter([](const Example&) { return true; });
  EXPECT_EQ(Dataset::zip({numbers(3), numbers(2).repeat()}).size(), 3);
  EXPECT_EQ(Dataset::zip({numbers(3), some}).size(), std::nullopt);
  EXPECT_EQ(Dataset::zip({numbers(0), some}).size(), 0);
  EXPECT_FALSE(Dataset::zip({numbers(2).repeat(), some}).is_endless());
  EXPECT_TRUE(Dataset::zip({numbers(2).repeat(), numbers(3).repeat()}).is_endless());
}

TEST(DatasetZip, OfTensorsInOrderIsBatchedAsViews) {
  const Tensor x = Tensor::zeros({6, 2});
  const Batch batch = Dataset::zip({Dataset::from_tensors(x), numbers(6)}).batch(4).epoch().next().value();
  EXPECT_EQ(batch.x().raw_data(), x.raw_data());
  EXPECT_EQ(batch.inputs.at(1).shape(), Shape{4});
}

TEST(DatasetZip, NeedsADataSet) {
  EXPECT_THAT([] { (void)Dataset::zip({}); }, ThrowsMessage<InvalidArgument>(HasSubstr("zip() needs a data set")));
}

}  // namespace
}  // namespace lockstep
