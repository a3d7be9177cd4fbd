#include <cstdint>

#include <gtest/gtest.h>

#include <lockstep/kernels/executor/strided.h>
#include <lockstep/kernels/executor/strided_loop.h>

namespace lockstep::test {
namespace {

using kernels::Index;
using kernels::StridedIndex;

/// Every element of (2, 3, 5), in a dense tensor and in one whose planes are `plane` and whose rows are `row` apart.
void expect_offsets(Index plane, Index row) {
  const StridedIndex<2> index(StridedLoop<2>({2, 3, 5}, {Shape{15, 5, 1}, Shape{plane, row, 2}}));
  for (Index i = 0; i < 30; ++i) {
    const auto offsets = index(i);
    EXPECT_EQ(offsets.of[0], i);
    EXPECT_EQ(offsets.of[1], i / 15 * plane + i / 5 % 3 * row + i % 5 * 2) << i;
  }
}

TEST(StridedIndex, GivesTheOffsetsOfEachElement) {
  constexpr Index beyond_32_bits = Index{1} << 33;
  for (const Index plane : {Index{0}, Index{100}, beyond_32_bits})
    for (const Index row : {Index{0}, Index{11}, beyond_32_bits + 7}) expect_offsets(plane, row);
}

}  // namespace
}  // namespace lockstep::test
