#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

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
  EXPECT_THAT(error_of<InvalidArgument>([] { multiply(Tensor::zeros({2}, DType::i32), Tensor::zeros({2})); }),
              ::testing::HasSubstr("multiply takes f32 or bf16, got i32 (2)"));
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

TEST(AddN, RefusesNothingAndOtherShapes) {
  EXPECT_THAT(error_of<InvalidArgument>([&] { add_n({}); }), ::testing::HasSubstr("at least one tensor"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                add_n(std::array{Tensor::zeros({3}), Tensor::zeros({4})});
              }),
              ::testing::HasSubstr("tensors of one shape and dtype, got f32 (3)"));
}

}  // namespace
}  // namespace lockstep::test
