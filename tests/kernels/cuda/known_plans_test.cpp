#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/kernels/cuda/known_plans.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

/// Plans for even numbers; the plan of a number is its double.
class KnownPlansOfNumbers : public ::testing::Test {
 protected:
  std::optional<int> get(int ordinal, int number) {
    return plans_.get(ordinal, number, [&] {
      made_.push_back(number);
      return number % 2 == 0 ? std::optional(2 * number) : std::nullopt;
    });
  }

  KnownPlans<int, std::optional<int>> plans_{3};
  std::vector<int> made_;
};

TEST_F(KnownPlansOfNumbers, AreMadeOnceOnEachGpu) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(get(0, 2), Optional(4));
    EXPECT_THAT(get(1, 2), Optional(4));
    EXPECT_THAT(get(0, 4), Optional(8));
  }
  EXPECT_THAT(made_, ElementsAre(2, 2, 4));
}

TEST_F(KnownPlansOfNumbers, AreLookedForOnceWhereThereIsNone) {
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(get(0, 3));
  EXPECT_THAT(made_, ElementsAre(3));
}

TEST_F(KnownPlansOfNumbers, AreForgottenAtTheLimit) {
  for (const int number : {2, 4, 6, 8, 8, 2}) get(0, number);
  EXPECT_THAT(made_, ElementsAre(2, 4, 6, 8, 2));
}

TEST_F(KnownPlansOfNumbers, AreLookedForAgainAfterAnError) {
  EXPECT_THROW(plans_.get(0, 2, []() -> std::optional<int> { fail<OutOfMemory>("no memory"); }), OutOfMemory);
  EXPECT_THAT(get(0, 2), Optional(4));
}

}  // namespace
}  // namespace lockstep::test
