#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/shape.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t huge = std::int64_t{1} << 40;

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).elements(), 0);
  EXPECT_EQ((Shape{std::numeric_limits<std::int64_t>::max()}).elements(), std::numeric_limits<std::int64_t>::max());
}

TEST(Shape, RejectsACountThatOverflows) {
  const Shape shape{huge, huge};
  EXPECT_THAT([&] { (void)shape.elements(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("(1099511627776, 1099511627776)")));
}

TEST(Shape, RejectsNegativeSizes) {
  const Shape shape{2, -1};
  EXPECT_THAT([&] { (void)shape.elements(); }, ThrowsMessage<InvalidArgument>(HasSubstr("(2, -1)")));
}

TEST(Shape, CountsAxesFromBothEnds) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.dim(-1), 5);
  EXPECT_EQ(shape.normalize_axis(-3), 0);
}

TEST(Shape, RejectsAxesOutsideTheRank) {
  const Shape shape{2, 3, 5};
  EXPECT_THAT([&] { (void)shape.dim(3); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("axis 3"), HasSubstr("rank 3"))));
  EXPECT_THROW((void)shape.dim(-4), InvalidArgument);
  EXPECT_THROW((void)Shape{}.dim(0), InvalidArgument);
}

TEST(Shape, HasAtMostEightDimensions) {
  const std::vector<std::int64_t> nine(9, 1);
  EXPECT_THROW((void)Shape(nine), InvalidArgument);
  Shape eight(std::span<const std::int64_t>(nine).first(8));
  EXPECT_EQ(eight.rank(), 8);
  EXPECT_THROW(eight.push_back(1), InvalidArgument);
}

TEST(Shape, DenseStridesAreRowMajor) {
  EXPECT_EQ((Shape{2, 3, 4}).dense_strides(), (Shape{12, 4, 1}));
  EXPECT_EQ(Shape{}.dense_strides(), Shape{});
  EXPECT_EQ((Shape{0, huge, huge}).dense_strides().rank(), 3);  // empty: no stride matters, none may overflow
}

TEST(Shape, ComparesRankAndSizes) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
}

TEST(Shape, ReadsAsATuple) {
  EXPECT_EQ((Shape{2, 32, 32, 3}).text(), "(2, 32, 32, 3)");
  EXPECT_EQ(Shape{}.text(), "()");
}

}  // namespace
}  // namespace lockstep
