#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<bool> bools(const Tensor& x) {
  EXPECT_EQ(x.dtype(), DType::boolean);
  return x.to_vector<bool>();
}

TEST(Comparison, OfIntegersIsExact) {
  const std::int64_t large = (1LL << 53) + 1;  // no double
  const Tensor x = Tensor::from<std::int64_t>({large, large - 1}, {2});
  EXPECT_THAT(bools(equal(x, Tensor::scalar(large))), ElementsAre(true, false));
  EXPECT_THAT(bools(greater(cast(Tensor::from<float>({1, 2, 3}, {3}), DType::u8), 2)), ElementsAre(false, false, true));
}

TEST(Comparison, RefusesWhatCannotBeCompared) {
  const Tensor x = Tensor::zeros({3}, DType::i64);
  EXPECT_THAT(error_of<InvalidArgument>([&] { less(x, Tensor::zeros({3})); }),
              HasSubstr("less takes tensors of one dtype, got i64 (3)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { less(x, 0.5); }),
              HasSubstr("less with 0.5 needs a dtype that can represent it, such as f32, got i64"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { equal(cast(x, DType::u8), 256); }), HasSubstr("equal with 256"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { equal(x, 9223372036854775808.0); }), HasSubstr("equal with 9.22"));
  EXPECT_EQ(error_of<InvalidArgument>([] {
              equal(Tensor::zeros({2, 3}), Tensor::zeros({4}));
            }),
            "equal: shapes (2, 3) and (4) do not broadcast");
}

TEST(Predicates, TellTheLargestNumberFromInfinity) {
  const Tensor x = Tensor::from<float>({std::numeric_limits<float>::max(), -infinity}, {2});
  EXPECT_THAT(bools(isinf(x)), ElementsAre(false, true));
  EXPECT_THAT(bools(isfinite(x)), ElementsAre(true, false));
  EXPECT_THAT(bools(isinf(cast(x, DType::bf16))), ElementsAre(true, true));  // rounds to infinity
}

TEST(Where, ChoosesFromAnyDtype) {
  const Tensor condition = Tensor::from<bool>({true, false}, {2});
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Tensor y = where(condition, Tensor::full({2}, 1, dtype), Tensor::full({}, 0, dtype));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_THAT(y.to_vector<int>(), ElementsAre(1, 0));
  }
}

// The gradient of the other side is 0 even where its function is infinite or NaN.
TEST(Where, KeepsTheOtherSideOutOfTheGradient) {
  const Tensor x = Tensor::from<float>({4, 0}, {2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = where(greater(x, 0), sqrt(where(greater(x, 0), x, 1.0)), 0.0);
  EXPECT_THAT(tape.gradient(sum(y), std::span(&x, 1)).front().to_vector<float>(), ElementsAre(0.25F, 0));
}

TEST(Where, WithOneArgumentGivesIndices) {
  const Tensor x = Tensor::from<float>({0, 2, 0, -1, std::nanf(""), 0}, {2, 3});
  const std::vector<Tensor> indices = where(x);
  ASSERT_EQ(indices.size(), 2U);
  EXPECT_EQ(indices[0].dtype(), DType::i64);
  EXPECT_THAT(indices[0].to_vector<int>(), ElementsAre(0, 1, 1));
  EXPECT_THAT(indices[1].to_vector<int>(), ElementsAre(1, 0, 1));
  EXPECT_EQ(where(Tensor::zeros({2, 0, 3})).size(), 3U);
  EXPECT_EQ(where(Tensor::zeros({4})).front().shape(), (Shape{0}));
  EXPECT_EQ(error_of<InvalidArgument>([] { where(Tensor::scalar(1.0F)); }).find("where with one argument takes"), 0U);
}

TEST(Where, RefusesOtherConditions) {
  const Tensor x = Tensor::zeros({3});
  EXPECT_THAT(error_of<InvalidArgument>([&] { where(x, x, x); }),
              HasSubstr("where takes a condition of bool, got f32 (3)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { where(Tensor::zeros({2}, DType::boolean), x, x); }),
              HasSubstr("where: shapes (2) and (3) do not broadcast"));
}

}  // namespace
}  // namespace lockstep::test
