#include <cmath>
#include <limits>

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

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<bool> bools(const Tensor& x) {
  EXPECT_EQ(x.dtype(), DType::boolean);
  return x.to_vector<bool>();
}

struct ComparisonCase {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  bool (*reference)(double, double);
};

constexpr ComparisonCase comparisons[] = {
    {"equal", equal, [](double a, double b) { return a == b; }},
    {"not_equal", not_equal, [](double a, double b) { return a != b; }},
    {"less", less, [](double a, double b) { return a < b; }},
    {"less_equal", less_equal, [](double a, double b) { return a <= b; }},
    {"greater", greater, [](double a, double b) { return a > b; }},
    {"greater_equal", greater_equal, [](double a, double b) { return a >= b; }},
    {"logical_and", logical_and, [](double a, double b) { return a != 0 && b != 0; }},
    {"logical_or", logical_or, [](double a, double b) { return a != 0 || b != 0; }},
    {"logical_xor", logical_xor, [](double a, double b) { return (a != 0) != (b != 0); }},
};

/// 0, 1, 2 and 3: many of them equal.
Tensor few_numbers(const Shape& shape, unsigned seed, DType dtype) {
  return cast(cast(random_tensor(shape, seed, 0, 4), DType::i32), dtype);
}

TEST(Comparison, OfEveryDtypeAndOfShapesThatBroadcastEqualsItsReference) {
  const Shape full{4, 33};
  for (const ComparisonCase& comparison : comparisons)
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean})
      for (const Shape& shape : {Shape{4, 33}, Shape{33}, Shape{4, 1}, Shape{}}) {
        SCOPED_TRACE(fmt::format("{} of {} {}", comparison.name, name(dtype), shape));
        const Tensor a = few_numbers(full, 1, dtype);
        const Tensor b = few_numbers(shape, 2, dtype);
        const std::vector<double> left = a.to_vector<double>();
        const std::vector<double> right = b.broadcast_view(full).to_vector<double>();
        std::vector<bool> expected, exchanged;
        for (std::size_t i = 0; i < left.size(); ++i) {
          expected.push_back(comparison.reference(left[i], right[i]));
          exchanged.push_back(comparison.reference(right[i], left[i]));
        }
        EXPECT_EQ(bools(comparison.op(a, b)), expected);
        EXPECT_EQ(bools(comparison.op(b, a)), exchanged);
        if (!is_real(dtype)) continue;
        EXPECT_EQ(bools(comparison.op(strided_copy(a), b)), expected);
      }
}

TEST(Comparison, OfNothingIsNothing) {
  for (const ComparisonCase& comparison : comparisons)
    EXPECT_EQ(comparison.op(Tensor::zeros({4, 0}), Tensor::zeros({4, 1})).shape(), (Shape{4, 0}));
}

TEST(Comparison, NamesItselfWhenAnOperandIsUndefined) {
  for (const ComparisonCase& comparison : comparisons)
    EXPECT_THAT(error_of<InvalidArgument>([&] { comparison.op(Tensor::zeros({3}), Tensor()); }),
                testing::AllOf(HasSubstr(comparison.name), HasSubstr("undefined")));
}

TEST(Comparison, WithNumbersIsOfEveryElement) {
  const Tensor x = Tensor::from<float>({-1, 0.5F, 2}, {3});
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor y = cast(x, dtype);
    EXPECT_THAT(bools(equal(y, 0.5)), ElementsAre(false, true, false));
    EXPECT_THAT(bools(not_equal(y, 0.5)), ElementsAre(true, false, true));
    EXPECT_THAT(bools(less(y, 0.5)), ElementsAre(true, false, false));
    EXPECT_THAT(bools(less_equal(y, 0.5)), ElementsAre(true, true, false));
    EXPECT_THAT(bools(greater(y, 0.5)), ElementsAre(false, false, true));
    EXPECT_THAT(bools(greater_equal(y, 0.5)), ElementsAre(false, true, true));
    EXPECT_THAT(bools(equal(0.5, y)), ElementsAre(false, true, false));
    EXPECT_THAT(bools(not_equal(0.5, y)), ElementsAre(true, false, true));
    EXPECT_THAT(bools(less(0.5, y)), ElementsAre(false, false, true));
    EXPECT_THAT(bools(less_equal(0.5, y)), ElementsAre(false, true, true));
    EXPECT_THAT(bools(greater(0.5, y)), ElementsAre(true, false, false));
    EXPECT_THAT(bools(greater_equal(0.5, y)), ElementsAre(true, true, false));
  }
}

TEST(Comparison, OfIntegersIsExact) {
  const std::int64_t large = (1LL << 53) + 1;  // no double
  const Tensor x = Tensor::from<std::int64_t>({large, large - 1}, {2});
  EXPECT_THAT(bools(equal(x, Tensor::scalar(large))), ElementsAre(true, false));
  EXPECT_THAT(bools(greater(cast(Tensor::from<float>({1, 2, 3}, {3}), DType::u8), 2)), ElementsAre(false, false, true));
}

TEST(Comparison, OfNanIsFalse) {
  const Tensor x = Tensor::from<float>({nan, 1}, {2});
  EXPECT_THAT(bools(equal(x, x)), ElementsAre(false, true));
  EXPECT_THAT(bools(less_equal(x, x)), ElementsAre(false, true));
  EXPECT_THAT(bools(greater(x, 0)), ElementsAre(false, true));
  EXPECT_THAT(bools(not_equal(x, x)), ElementsAre(true, false));
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
  EXPECT_THAT(error_of<InvalidArgument>([&] { greater(Tensor(), 1); }), HasSubstr("greater takes a tensor"));
}

TEST(Logic, OfAnyDtypeTakesAllNumbersButZeroAsTrue) {
  const Tensor a = Tensor::from<float>({0, 0, 0.25F, nan}, {4});
  const Tensor b = Tensor::from<float>({0, -2, 0, 3}, {4});
  for (const DType dtype : {DType::f32, DType::bf16, DType::boolean}) {
    const Tensor x = cast(a, dtype);
    const Tensor y = cast(b, dtype);
    EXPECT_THAT(bools(logical_and(x, y)), ElementsAre(false, false, false, true));
    EXPECT_THAT(bools(logical_or(x, y)), ElementsAre(false, true, true, true));
    EXPECT_THAT(bools(logical_xor(x, y)), ElementsAre(false, true, true, false));
    EXPECT_THAT(bools(logical_not(x)), ElementsAre(true, true, false, false));
  }
  EXPECT_THAT(error_of<InvalidArgument>([] { logical_not(Tensor()); }), HasSubstr("logical_not takes a tensor"));
}

TEST(Predicates, TellNanAndInfinity) {
  const float most = std::numeric_limits<float>::max();
  const Tensor x = Tensor::from<float>({0, nan, infinity, -infinity, most}, {5});
  EXPECT_THAT(bools(isnan(x)), ElementsAre(false, true, false, false, false));
  EXPECT_THAT(bools(isinf(x)), ElementsAre(false, false, true, true, false));
  EXPECT_THAT(bools(isfinite(x)), ElementsAre(true, false, false, false, true));
  EXPECT_THAT(bools(isinf(cast(x, DType::bf16))), ElementsAre(false, false, true, true, true));  // rounds to infinity
  EXPECT_THAT(bools(isfinite(strided_copy(x))), ElementsAre(true, false, false, false, true));
  for (const auto op : {isnan, isinf, isfinite})
    EXPECT_THAT(error_of<InvalidArgument>([&] { op(Tensor::zeros({2}, DType::i32)); }), HasSubstr("takes f32 or bf16"));
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

TEST(Where, RefusesOtherConditions) {
  const Tensor x = Tensor::zeros({3});
  EXPECT_THAT(error_of<InvalidArgument>([&] { where(x, x, x); }),
              HasSubstr("where takes a condition of bool, got f32 (3)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { where(Tensor::zeros({2}, DType::boolean), x, x); }),
              HasSubstr("where: shapes (2) and (3) do not broadcast"));
}

}  // namespace
}  // namespace lockstep::test
