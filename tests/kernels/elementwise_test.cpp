#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

TEST(Binary, ErrorsNameTheShapes) {
  EXPECT_EQ(error_of<InvalidArgument>([] {
              add(Tensor::zeros({2, 3}), Tensor::zeros({4}));
            }),
            "add: shapes (2, 3) and (4) do not broadcast");
  EXPECT_ERROR(InvalidArgument, "divide takes tensors of one dtype, got i32 (2)",
               divide(Tensor::zeros({2}, DType::i32), Tensor::zeros({2})));
  EXPECT_ERROR(InvalidArgument, "subtract takes f32, bf16, i32, i64 or u8, got bool (2)",
               subtract(Tensor::zeros({2}, DType::boolean), 1));
  EXPECT_THAT(error_of<InvalidArgument>([] { relu(Tensor()); }), ::testing::HasSubstr("an undefined tensor"));
}

TEST(Binary, OfTwoDtypesIsRefused) {
  const Tensor x = Tensor::zeros({3}, DType::bf16);
  EXPECT_THAT(error_of<InvalidArgument>([&] { add(x, Tensor::zeros({3})); }),
              ::testing::HasSubstr("add takes tensors of one dtype"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                add_n(std::array{x, Tensor::zeros({3})});
              }),
              ::testing::HasSubstr("add_n takes tensors of one shape and dtype"));
}

TEST(Maximum, OfEqualsHasTheGradientOfTheFirstAndOfNanIsNan) {
  const float nan = std::nanf("");
  const Tensor a = Tensor::from<float>({1, 2, 3, nan, 5, nan}, {6});
  const Tensor b = Tensor::from<float>({1, 3, 2, 4, nan, nan}, {6});
  const auto gradients = [&](Tensor (*op)(const Tensor&, const Tensor&)) {
    GradientTape tape;
    for (const Tensor& x : {a, b}) tape.watch(x);
    const Tensor y = op(a, b);
    EXPECT_THAT(y.slice_view(0, 3, 6).to_vector<float>(), ::testing::Each(::testing::IsNan()));
    std::vector<std::vector<float>> values;
    for (const Tensor& gradient : tape.gradient(sum(y), std::array{a, b}))
      values.push_back(gradient.to_vector<float>());
    return values;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(gradients(maximum), ElementsAre(ElementsAre(1, 0, 1, 1, 0, 1), ElementsAre(0, 1, 0, 0, 1, 0)));
  EXPECT_THAT(gradients(minimum), ElementsAre(ElementsAre(1, 1, 0, 1, 0, 1), ElementsAre(0, 0, 1, 0, 1, 0)));
}

TEST(Cast, ConvertsBetweenAllTypes) {
  const std::vector<float> values = {0, 1, 2.5F, 200, 3.14159F};
  const Tensor x = Tensor::from(values, {5});
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Tensor y = cast(x, dtype);
    EXPECT_EQ(y.dtype(), dtype);
    for (const DType other : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
      const auto back = cast(y, other).to_vector<double>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto value = static_cast<double>(values[i]);
        const bool fraction = dtype == DType::f32 || dtype == DType::bf16;
        const bool fraction_kept = fraction && (other == DType::f32 || other == DType::bf16);
        const bool truth = dtype == DType::boolean || other == DType::boolean;
        const double expected = truth ? (value != 0 ? 1 : 0) : fraction_kept ? value : std::trunc(value);
        EXPECT_NEAR(back[i], expected, fraction_kept && !truth ? value * epsilon_of(DType::bf16) / 2 : 0.0);
      }
    }
  }
  const Tensor wide = strided_copy(random_tensor({3, 4, 5}, 1), 1);
  expect_close(cast(cast(wide, DType::bf16), DType::f32), wide.to_vector<double>(), 1,
               epsilon_of(DType::bf16) / epsilon_of(DType::f32));
}

TEST(Cast, PassesGradientsThroughBfloat16AndNoneThroughIntegers) {
  const Tensor x = random_tensor({4, 3}, 1);
  GradientTape tape;
  tape.watch(x);
  const Tensor half = cast(x, DType::bf16);
  const Tensor y = cast(half, DType::f32) * 3.0 + cast(half, DType::f32);
  const Tensor number = cast(cast(x, DType::i32), DType::f32);
  const std::vector<Tensor> sources = {x, half};
  const auto gradients = tape.gradient(sum(y + number), sources);
  EXPECT_EQ(gradients[0].dtype(), DType::f32);
  EXPECT_EQ(gradients[1].dtype(), DType::bf16);
  EXPECT_THAT(gradients[0].to_vector<float>(), ::testing::Each(4.0F));
  EXPECT_THAT(gradients[1].to_vector<float>(), ::testing::Each(4.0F));
}

TEST(Binary, OfIntegersWrapsAround) {
  const auto check = [](auto lowest) {
    using T = decltype(lowest);
    const T highest = std::numeric_limits<T>::max();
    const Tensor a = Tensor::from<T>({lowest, highest, highest, 7}, {4});
    const Tensor b = Tensor::from<T>({1, 1, highest, -3}, {4});
    using ::testing::ElementsAre;
    EXPECT_THAT((a + b).template to_vector<T>(), ElementsAre(lowest + 1, lowest, -2, 4));
    EXPECT_THAT((a - b).template to_vector<T>(), ElementsAre(highest, highest - 1, 0, 10));
    EXPECT_THAT((a * b).template to_vector<T>(), ElementsAre(lowest, highest, 1, -21));
    EXPECT_THAT(maximum(a, b).template to_vector<T>(), ElementsAre(1, highest, highest, 7));
    EXPECT_THAT(minimum(a, 1).template to_vector<T>(), ElementsAre(lowest, 1, 1, 1));
    EXPECT_THAT((-a).template to_vector<T>(), ElementsAre(lowest, -highest, -highest, -7));
    EXPECT_THAT(abs(b - 2.0).template to_vector<T>(), ElementsAre(1, 1, highest - 2, 5));
    EXPECT_THAT(square(a).template to_vector<T>(), ElementsAre(0, 1, 1, 49));
    EXPECT_THAT(sign(a - 7.0).template to_vector<T>(), ElementsAre(1, 1, 1, 0));
    EXPECT_THAT(clip(a, -9, 5).template to_vector<T>(), ElementsAre(-9, 5, 5, 5));
    EXPECT_THAT((10.0 - 2.0 * b).template to_vector<T>(), ElementsAre(8, 8, 12, 16));
    EXPECT_THAT(squared_difference(a, b).template to_vector<T>(), ElementsAre(1, 4, 0, 100));
    EXPECT_THAT(power(a, 2).template to_vector<T>(), ElementsAre(0, 1, 1, 49));
    EXPECT_THAT(add_n(std::array{a, a, b}).template to_vector<T>(), ElementsAre(1, -1, highest - 2, 11));
    EXPECT_THAT(floor_divide(a, -1).template to_vector<T>(), ElementsAre(lowest, -highest, -highest, -7));
    EXPECT_THAT(mod(a, -1).template to_vector<T>(), ElementsAre(0, 0, 0, 0));
  };
  check(std::numeric_limits<std::int32_t>::lowest());
  check(std::numeric_limits<std::int64_t>::lowest());
}

// The expected values are those of keras.ops on JAX.
TEST(Binary, OfU8WrapsAround) {
  const Tensor a = Tensor::from<std::uint8_t>({200, 100, 3, 0}, {4});
  const Tensor b = Tensor::from<std::uint8_t>({100, 200, 5, 2}, {4});
  const auto values = [](const Tensor& x) { return x.to_vector<std::uint8_t>(); };
  using ::testing::ElementsAre;
  EXPECT_THAT(values(a + b), ElementsAre(44, 44, 8, 2));
  EXPECT_THAT(values(a - b), ElementsAre(100, 156, 254, 254));
  EXPECT_THAT(values(a * b), ElementsAre(32, 32, 15, 0));
  EXPECT_THAT(values(power(a, b)), ElementsAre(0, 0, 243, 0));
  EXPECT_THAT(values(floor_divide(a, b)), ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(values(mod(a, b)), ElementsAre(0, 100, 3, 0));
  EXPECT_THAT(values(-a), ElementsAre(56, 156, 253, 0));
  EXPECT_THAT(values(abs(a)), ElementsAre(200, 100, 3, 0));
  EXPECT_THAT(values(square(a)), ElementsAre(64, 16, 9, 0));
  EXPECT_THAT(values(clip(a, 3, 150)), ElementsAre(150, 100, 3, 3));
  EXPECT_THAT(values(3.0 - a), ElementsAre(59, 159, 0, 3));
  EXPECT_THAT(values(add_n(std::array{a, a, b})), ElementsAre(244, 144, 11, 2));
  EXPECT_ERROR(InvalidArgument, "multiply with 256 needs a dtype that can represent it", a * 256);
}

TEST(Binary, OfBoolIsLogicOrGivesIntegers) {
  const Tensor a = Tensor::from(std::vector<bool>{true, true, false, false}, {4});
  const Tensor b = Tensor::from(std::vector<bool>{true, false, true, false}, {4});
  using ::testing::ElementsAre;
  EXPECT_THAT(add(a, b).to_vector<bool>(), ElementsAre(true, true, true, false));
  EXPECT_THAT(maximum(a, b).to_vector<bool>(), ElementsAre(true, true, true, false));
  EXPECT_THAT(multiply(a, b).to_vector<bool>(), ElementsAre(true, false, false, false));
  EXPECT_THAT(minimum(a, b).to_vector<bool>(), ElementsAre(true, false, false, false));
  EXPECT_THAT(add(a, 1).to_vector<bool>(), ElementsAre(true, true, true, true));
  EXPECT_THAT(power(a, b).to_vector<int>(), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(power(3, a).to_vector<int>(), ElementsAre(3, 3, 1, 1));
  EXPECT_THAT(floor_divide(a, b).to_vector<int>(), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(mod(a, 2).to_vector<int>(), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(square(a).to_vector<int>(), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(clip(a, -1, 1).to_vector<int>(), ElementsAre(1, 1, 0, 0));
  EXPECT_ERROR(InvalidArgument, "add with 2 needs a dtype that can represent it", a + 2);
}

TEST(Power, OfIntegersIsExact) {
  const Tensor a = Tensor::from<std::int64_t>({3, -3, 0, 2, 5, 1, -1, -1, 0}, {9});
  const Tensor b = Tensor::from<std::int64_t>({39, 39, 0, -1, -2, -3, -3, -4, -1}, {9});
  EXPECT_THAT(power(a, b).to_vector<std::int64_t>(),
              ::testing::ElementsAre(4052555153018976267, -4052555153018976267, 1, 0, 0, 1, -1, 1, 0));
  EXPECT_THAT(power(2, b.slice_view(0, 2, 3)).to_vector<std::int64_t>(), ::testing::ElementsAre(1));
  EXPECT_THAT(error_of<InvalidArgument>([&] { power(a, -1); }),
              ::testing::HasSubstr("power by -1 takes f32 or bf16, got i64 (9)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { power(a, 0.5); }), ::testing::HasSubstr("power with 0.5"));
}

// The expected values are Python's.
TEST(FloorDivideAndMod, RoundDownAsInPython) {
  const std::vector<double> a{7, -7, 7, -7, 6, -6, 0};
  const std::vector<double> b{3, 3, -3, -3, 3, 3, -3};
  const std::vector<double> quotients{2, -3, -3, 2, 2, -2, 0};
  const std::vector<double> rests{1, 2, -2, -1, 0, 0, 0};
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64}) {
    const auto of = [&](const std::vector<double>& x) {
      return cast(Tensor::from(std::vector<float>(x.begin(), x.end()), {7}), dtype);
    };
    EXPECT_EQ(floor_divide(of(a), of(b)).to_vector<double>(), quotients);
    EXPECT_EQ(mod(of(a), of(b)).to_vector<double>(), rests);
  }
}

TEST(FloorDivideAndMod, OfRealNumbersKeepSignsAndExactQuotients) {
  const float infinity = std::numeric_limits<float>::infinity();
  // 0.1F is more than 0.1. The nearest f32 to the fourth quotient, 50331643, is 50331644.
  const Tensor a = Tensor::from<float>({1, -1, -6, 16777215, 1, 0, -0.0F, 2, -2}, {9});
  const Tensor b = Tensor::from<float>({0.1F, 0.1F, 3, 0.33333334F, infinity, 0, 4, -infinity, 0}, {9});
  using ::testing::ElementsAre;
  using ::testing::IsNan;
  EXPECT_THAT(floor_divide(a, b).to_vector<float>(),
              ElementsAre(9, -10, -2, 50331644, 0, IsNan(), -0.0F, -1, -infinity));
  const std::vector<float> rests = mod(a, b).to_vector<float>();
  EXPECT_THAT(rests,
              ElementsAre(0.09999998658895493F, 1.49011612e-08F, 0, ::testing::_, 1, IsNan(), 0, -infinity, IsNan()));
  EXPECT_FALSE(std::signbit(rests[2]));
  EXPECT_FALSE(std::signbit(rests[6]));
}

TEST(FloorDivideAndMod, OfIntegersByZeroAreZero) {
  const Tensor a = Tensor::from<int>({-2, 0, 2}, {3});
  EXPECT_THAT(floor_divide(a, 0).to_vector<int>(), ::testing::Each(0));
  EXPECT_THAT(mod(a, 0).to_vector<int>(), ::testing::Each(0));
}

TEST(CompoundAssignment, RebindsTheHandleAndIsRecorded) {
  const Tensor x = Tensor::from<float>({1, 2}, {2});
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  y += x;
  y *= x;
  y -= 1.0;
  y /= 2.0;
  EXPECT_THAT(x.to_vector<float>(), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(y.to_vector<float>(), ::testing::ElementsAre(0.5F, 3.5F));
  EXPECT_THAT(tape.gradient(sum(y), std::span(&x, 1)).front().to_vector<float>(), ::testing::ElementsAre(2, 4));
}

TEST(CompoundAssignment, ByQuotientsKeepsTheDtype) {
  for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Tensor x = Tensor::zeros({2}, dtype);
    Tensor y = x;
    EXPECT_ERROR(InvalidArgument, "use a = a / b, which is f32, or, for integers, floor_divide", y /= 2);
    EXPECT_ERROR(InvalidArgument, "a /= b takes an a of f32 or bf16, got ", y /= x);
    EXPECT_EQ(y.id(), x.id());
  }
  Tensor half = Tensor::zeros({2}, DType::bf16);
  half /= 2;
  EXPECT_EQ(half.dtype(), DType::bf16);
}

TEST(Power, HasFiniteGradientsAtZero) {
  const Tensor a = Tensor::from<float>({0, 0, -2, -2, 2}, {5});
  const Tensor b = Tensor::from<float>({0, 1, 2, 0, 3}, {5});
  GradientTape tape;
  for (const Tensor& x : {a, b}) tape.watch(x);
  const Tensor y = power(a, b);
  EXPECT_THAT(y.to_vector<float>(), ::testing::ElementsAre(1, 0, 4, 1, 8));
  const std::vector<Tensor> gradients = tape.gradient(sum(y), std::array{a, b});
  EXPECT_THAT(gradients[0].to_vector<float>(), ::testing::ElementsAre(0, 1, -4, 0, 12));
  EXPECT_THAT(gradients[1].to_vector<float>(),
              ::testing::ElementsAre(0, 0, 0, 0, ::testing::FloatNear(8 * std::log(2.0F), 1e-5F)));
}

TEST(Round, TakesHalvesToEven) {
  const Tensor x = Tensor::from<float>({-2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F, 2.6F}, {7});
  EXPECT_THAT(round(x).to_vector<float>(), ::testing::ElementsAre(-2, -2, 0, 0, 2, 2, 3));
}

TEST(Round, TakesDecimals) {
  constexpr float large = 3e38F;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({1.234F, -0.125F, 1250, large, -infinity}, {5});
  EXPECT_THAT(round(x, 2).to_vector<float>(), ::testing::ElementsAre(1.23F, -0.12F, 1250, large, -infinity));
  EXPECT_THAT(round(x, -2).to_vector<float>(),
              ::testing::ElementsAre(0, 0, 1200, ::testing::FloatEq(large), -infinity));
  EXPECT_THAT(round(x, 38).to_vector<float>(),
              ::testing::ElementsAre(::testing::FloatEq(1.234F), -0.125F, 1250, large, -infinity));
  EXPECT_TRUE(std::isnan(round(Tensor::scalar(std::nanf("")), 3).item<float>()));
  EXPECT_ERROR(InvalidArgument, "round takes -38 to 38 decimals, got 39", round(x, 39));
  EXPECT_ERROR(InvalidArgument, "round takes f32 or bf16, got i32 (2)", round(Tensor::zeros({2}, DType::i32), -1));
}

TEST(Expm1, IsExactNearZeroAndUpToTheLargestNumber) {
  const std::vector<float> x{1e-7F, -1e-7F, 88.5F, 100, -200};
  const std::vector<float> y = expm1(Tensor::from(x, {5})).to_vector<float>();
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_NEAR(y[i] / std::expm1(static_cast<double>(x[i])), 1, 1e-6);
  EXPECT_EQ(y[3], std::numeric_limits<float>::infinity());
  EXPECT_EQ(y[4], -1);
}

TEST(Divide, ByNumbersWhoseReciprocalOverflows) {
  const Tensor x = Tensor::from(std::vector<float>{0, 1e-5F, -1}, {3});
  const std::vector<float> y = (x / 1e-40).to_vector<float>();
  EXPECT_EQ(y[0], 0);
  EXPECT_FLOAT_EQ(y[1], 1e-5F / 1e-40F);  // f32 holds 1e-40 as a subnormal number of few digits
  EXPECT_EQ(y[2], -std::numeric_limits<float>::infinity());
}

TEST(Maximum, WithANumberThatIsNanIsNan) {
  const Tensor x = Tensor::from(std::vector<float>{1, -1}, {2});
  for (const Tensor& y : {maximum(x, std::nan("")), minimum(x, std::nan(""))})
    for (const float value : y.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST(Arctan2, IsTheAngleInEveryQuadrant) {
  const Tensor a = Tensor::from<float>({1, 1, -1, -1, 0, 2}, {6});
  const Tensor b = Tensor::from<float>({1, -1, -1, 1, -3, 0}, {6});
  constexpr double pi = 3.14159265358979;
  expect_close(arctan2(a, b), {pi / 4, 3 * pi / 4, -3 * pi / 4, -pi / 4, pi, pi / 2});
}

std::vector<float> slopes(Tensor (*op)(const Tensor&), const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = op(x);
  return tape.gradient(sum(y), std::span(&x, 1)).front().to_vector<float>();
}

// Where the function is not defined, the gradient is NaN, too; far from 0 it does not overflow.
TEST(HyperbolicFunctions, HaveGradientsFarFromZero) {
  const Tensor x = Tensor::from<float>({-2, 1e20F}, {2});
  EXPECT_THAT(slopes(arccosh, x), ::testing::ElementsAre(::testing::IsNan(), ::testing::FloatEq(1e-20F)));
  EXPECT_THAT(slopes(arcsinh, x),
              ::testing::ElementsAre(::testing::FloatNear(0.4472136F, 1e-6F), ::testing::FloatEq(1e-20F)));
}

TEST(LogAddExp, DoesNotOverflow) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Tensor a = Tensor::from<float>({1000, -1000, 0, infinity, -infinity, -infinity}, {6});
  const Tensor b = Tensor::from<float>({1000, -1001, -20, 3, -infinity, 3}, {6});
  const std::vector<float> y = logaddexp(a, b).to_vector<float>();
  EXPECT_FLOAT_EQ(y[0], 1000.6931F);
  EXPECT_FLOAT_EQ(y[1], -999.68674F);
  EXPECT_FLOAT_EQ(y[2], 2.0611537e-9F);
  EXPECT_EQ(y[3], infinity);
  EXPECT_EQ(y[4], -infinity);
  EXPECT_EQ(y[5], 3);
}

TEST(Clip, PassesTheGradientAtItsBounds) {
  const Tensor x = Tensor::from<float>({-1, 0, 0.5F, 1, 2}, {5});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = clip(x, 0, 1);
  EXPECT_THAT(tape.gradient(sum(y), std::span(&x, 1)).front().to_vector<float>(),
              ::testing::ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(error_of<InvalidArgument>([&] { clip(x, 1, 0); }),
              ::testing::HasSubstr("clip takes bounds in increasing order, got 1 and 0"));
}

TEST(AddN, RefusesNothingAndOtherShapes) {
  EXPECT_THAT(error_of<InvalidArgument>([&] { add_n({}); }), ::testing::HasSubstr("at least one tensor"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                add_n(std::array{Tensor::zeros({3}), Tensor::zeros({4})});
              }),
              ::testing::HasSubstr("tensors of one shape and dtype, got f32 (3)"));
}

TEST(Subtract, TakesTheLowestI64) {
  const Tensor x = Tensor::from<std::int64_t>({-1, 5}, {2});
  EXPECT_THAT(
      (x - (-0x1p63)).to_vector<std::int64_t>(),
      ::testing::ElementsAre(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min() + 5));
  EXPECT_ERROR(InvalidArgument, "subtract with 0.5 needs a dtype that can represent it", x - 0.5);
}

}  // namespace
}  // namespace lockstep::test
