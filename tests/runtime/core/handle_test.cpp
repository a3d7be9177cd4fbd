#include <memory>
#include <utility>

#include <support/expect_error.h>

#include <lockstep/runtime/core/handle.h>

namespace lockstep {
namespace {

using Number = Handle<int, "number">;

TEST(AHandle, IsToItsObject) {
  const Number seven(std::make_shared<int>(7));
  const Number other = seven;
  *seven = 8;
  EXPECT_EQ(*other, 8);
  EXPECT_EQ(seven, other);
  EXPECT_NE(seven, Number(std::make_shared<int>(8)));
  EXPECT_TRUE(seven);
}

TEST(AHandle, SaysWhatIsMissingWhenItIsEmpty) {
  Number seven(std::make_shared<int>(7));
  const Number other = std::move(seven);
  EXPECT_FALSE(seven);  // NOLINT: moved from on purpose
  EXPECT_ERROR(LogicError, "this number has no value: it has been moved from, or never been given one", *seven);
  EXPECT_ERROR(LogicError, "this number has no value", (void)Number().shared());
}

}  // namespace
}  // namespace lockstep
