#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

bool is_even(const Example& element) { return static_cast<int>(element.x().item<float>()) % 2 == 0; }

TEST(DatasetFilter, KeepsWhatThePredicateWants) {
  EXPECT_THAT(read(numbers(7).filter(is_even)), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(read(numbers(7).filter([](const Example&) { return false; })), IsEmpty());
  EXPECT_THAT(test::batch_sizes(numbers(7).filter(is_even).batch(3)), ElementsAre(3, 1));
  EXPECT_THAT(read(numbers(3).repeat().filter(is_even).take(5)), ElementsAre(0, 2, 0, 2, 0));
}

TEST(DatasetFilter, HasAnUnknownSize) {
  EXPECT_EQ(numbers(7).filter(is_even).size(), std::nullopt);
  EXPECT_FALSE(numbers(7).filter(is_even).is_endless());
  EXPECT_TRUE(numbers(7).repeat().filter(is_even).is_endless());
  EXPECT_EQ(numbers(0).filter(is_even).size(), 0);
}

TEST(DatasetFilter, NamesTheElementWhosePredicateFailed) {
  const auto fails = [](const Example& element) {
    if (element.x().item<float>() == 4) throw std::runtime_error("neither");
    return is_even(element) && element.x().item<float>() > 0;
  };
  DatasetIterator pass = numbers(7).filter(fails).epoch();
  EXPECT_EQ(pass.next()->x().item<float>(), 2);
  EXPECT_THAT([&] { (void)pass.next(); }, ThrowsMessage<InputError>("filter, element 4: neither"));
}

}  // namespace
}  // namespace lockstep
