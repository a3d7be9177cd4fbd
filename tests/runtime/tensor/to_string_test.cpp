#include <limits>
#include <numeric>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/runtime/tensor/to_string.h>

namespace lockstep {
namespace {

Tensor integers(const Shape& shape) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::from(values, shape);
}

TEST(ToString, NestsAxesInBrackets) {
  EXPECT_EQ(to_string(integers({3})), "[0 1 2]");
  EXPECT_EQ(to_string(integers({2, 2})), "[[0 1]\n [2 3]]");
  EXPECT_EQ(to_string(integers({2, 1, 2})), "[[[0 1]]\n\n [[2 3]]]");
  EXPECT_EQ(to_string(Tensor::scalar<std::int64_t>(-7)), "-7");
  EXPECT_EQ(to_string(Tensor::zeros({2, 0})), "[]");
  EXPECT_EQ(to_string(Tensor()), "an undefined tensor");
  EXPECT_EQ((std::ostringstream() << integers({2, 2})).str(), to_string(integers({2, 2})));
}

TEST(ToString, AlignsNumbersOfEveryDtype) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_string(Tensor::from<float>({1, -2.5F, 1e-7F, infinity}, {2, 2})), "[[    1  -2.5]\n [1e-07   inf]]");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_string(Tensor::from<float>({1.0F / 3, nan, -nan}, {3})), "[0.333333      nan      nan]");
  EXPECT_EQ(to_string(Tensor::full({2}, 1.5, DType::bf16)), "[1.5 1.5]");
  EXPECT_EQ(to_string(Tensor::full({2}, 200, DType::u8)), "[200 200]");
  EXPECT_EQ(to_string(Tensor::from<bool>({true, false}, {2})), "[ true false]");
}

TEST(ToString, OfViewsFollowsStrides) {
  EXPECT_EQ(to_string(integers({2, 3}).transposed_view()), "[[0 3]\n [1 4]\n [2 5]]");
  EXPECT_EQ(to_string(integers({2, 3}).slice_view(1, 1, 3)), "[[1 2]\n [4 5]]");
}

TEST(ToString, OfNoElementsIsOnePairOfBrackets) {
  EXPECT_EQ(to_string(Tensor::empty({3, 0})), "[]");
  EXPECT_EQ(to_string(Tensor::empty({std::int64_t{1} << 40, 0})), "[]");
}

TEST(ToString, ShortensLargeTensors) {
  EXPECT_EQ(to_string(integers({1001})), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(to_string(integers({501, 2})),
            "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [ 996  997]\n [ 998  999]\n [1000 1001]]");
}

}  // namespace
}  // namespace lockstep
