#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/creation.h>

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Arange, EndsBeforeStop) {
  EXPECT_THAT(arange(4).to_vector<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(arange(1, 2, 0.25).to_vector<float>(), ElementsAre(1, 1.25, 1.5, 1.75));
  EXPECT_THAT(arange(5, -2, -3, DType::i32).to_vector<int>(), ElementsAre(5, 2, -1));
  EXPECT_THAT(arange(3, 3).to_vector<float>(), IsEmpty());
  EXPECT_THAT(arange(3, 0).to_vector<float>(), IsEmpty());
  EXPECT_EQ(arange(4, DType::i64).dtype(), DType::i64);
  EXPECT_EQ(arange(0, 1 << 20, 1, DType::i64).to_vector<std::int64_t>().back(), (1 << 20) - 1);
}

TEST(Arange, NamesNumbersThatGiveNoRange) {
  EXPECT_ERROR(InvalidArgument, "a step that is not 0, got 0, 1 and a step of 0", arange(0, 1, 0));
  EXPECT_ERROR(InvalidArgument, "arange takes finite numbers", arange(std::numeric_limits<double>::infinity()));
  EXPECT_ERROR(InvalidArgument, "arange from 0 to 1e+300 by 1 has too many numbers", arange(1e300));
}

TEST(Arange, RefusesNumbersThatTheDtypeDoesNotHold) {
  EXPECT_EQ(arange(256, DType::u8).to_vector<int>().back(), 255);
  EXPECT_EQ(arange(3, -1, -1, DType::u8).to_vector<int>().back(), 0);
  EXPECT_THAT(arange(-1, -1, 1, DType::u8).to_vector<int>(), IsEmpty());
  EXPECT_ERROR(InvalidArgument, "arange with 256 needs a dtype that can represent it, such as f32, got u8",
               arange(257, DType::u8));
  EXPECT_ERROR(InvalidArgument, "arange with -1 needs a dtype that can represent it, such as f32, got u8",
               arange(3, -2, -1, DType::u8));
  EXPECT_ERROR(InvalidArgument, "linspace with 300 needs a dtype that can represent it, such as f32, got u8",
               linspace(0, 300, 4, true, DType::u8));
}

TEST(Linspace, HasEqualSteps) {
  EXPECT_THAT(linspace(-1, 1, 5).to_vector<float>(), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(linspace(0, 1, 4, false).to_vector<float>(), ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_THAT(linspace(3, 9, 1).to_vector<float>(), ElementsAre(3));
  EXPECT_THAT(linspace(3, 9, 0).to_vector<float>(), IsEmpty());
  EXPECT_EQ(linspace(0, 0.1, 1000).to_vector<float>().back(), 0.1F);
  EXPECT_EQ(linspace(0, 1, 3, true, DType::bf16).dtype(), DType::bf16);
  constexpr float infinity = std::numeric_limits<float>::infinity();  // what 1e308 is in f32
  EXPECT_THAT(linspace(-1e308, 1e308, 3).to_vector<float>(), ElementsAre(-infinity, 0, infinity));
  EXPECT_THAT(linspace(-1e308, 0, 5).to_vector<float>(), ElementsAre(-infinity, -infinity, -infinity, -infinity, 0));
  EXPECT_ERROR(InvalidArgument, "a count of at least 0, got 0, 1 and a count of -1", linspace(0, 1, -1));
  EXPECT_ERROR(InvalidArgument, "linspace takes finite numbers", linspace(0, std::nan("")));
}

TEST(Linspace, OfIntegersEndsAtStop) {
  for (std::int64_t count = 2; count < 200; ++count)
    EXPECT_EQ(linspace(0, 10, count, true, DType::i64).to_vector<std::int64_t>().back(), 10) << count;
  // -49.8 + 29.8 is larger than -20 in double precision.
  EXPECT_EQ(linspace(-49.8, -20, 11, true, DType::i64).to_vector<std::int64_t>().back(), -20);
}

TEST(FullLike, RefusesNumbersThatTheDtypeDoesNotHold) {
  EXPECT_ERROR(InvalidArgument, "full_like with 0.5 needs a dtype that can represent it",
               full_like(Tensor::zeros({1}, DType::i64), 0.5));
}

}  // namespace
}  // namespace lockstep::test
