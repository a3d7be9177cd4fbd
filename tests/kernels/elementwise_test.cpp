#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

struct UnaryCase {
  const char* name;
  std::function<Tensor(const Tensor&)> op;
  double (*reference)(double);
  double low, high;  // of the inputs
};

void PrintTo(const UnaryCase& c, std::ostream* out) { *out << c.name; }

class Unary : public ::testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, MatchesReferenceAndItsDerivative) {
  const UnaryCase& c = GetParam();
  const Reference reference = [&](const auto& x) {
    std::vector<double> y;
    for (const double value : x[0]) y.push_back(c.reference(value));
    return y;
  };
  const Op op = [&](std::span<const Tensor> x) { return c.op(x[0]); };
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{3, 5, 7}, Shape{0, 4}}) {
    const Tensor x = random_tensor(shape, 1, c.low, c.high);
    check_gradients(op, reference, {x});
    if (shape.rank() > 1) check_gradients(op, reference, {strided_copy(x)});
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Unary,
                         ::testing::Values(UnaryCase{"negative", negative, [](double x) { return -x; }, -2, 2},
                                           UnaryCase{"exp", exp, [](double x) { return std::exp(x); }, -3, 3},
                                           UnaryCase{"log", log, [](double x) { return std::log(x); }, 0.3, 4},
                                           UnaryCase{"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.3, 4},
                                           UnaryCase{"square", square, [](double x) { return x * x; }, -2, 2},
                                           UnaryCase{"abs", abs, [](double x) { return std::abs(x); }, -2, 2},
                                           UnaryCase{"maximum", [](const Tensor& x) { return maximum(x, 0.3); },
                                                     [](double x) { return std::max(x, 0.3); }, -2, 2},
                                           UnaryCase{"minimum", [](const Tensor& x) { return minimum(x, 0.3); },
                                                     [](double x) { return std::min(x, 0.3); }, -2, 2},
                                           UnaryCase{"add_number", [](const Tensor& x) { return 3.0 + x - 0.5; },
                                                     [](double x) { return x + 2.5; }, -2, 2},
                                           UnaryCase{"scale", [](const Tensor& x) { return 3.0 * x / 4.0; },
                                                     [](double x) { return x * 0.75; }, -2, 2}),
                         [](const auto& test) { return std::string(test.param.name); });

struct BinaryCase {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
};

void PrintTo(const BinaryCase& c, std::ostream* out) { *out << c.name; }

class Binary : public ::testing::TestWithParam<BinaryCase> {};

/// Element of a tensor of `shape` that index `index` of the broadcast shape reads, by the definition.
std::size_t source_index(const Shape& shape, const Shape& full, std::size_t index) {
  std::size_t at = 0;
  std::size_t step = 1;
  for (int axis = full.rank() - 1; axis >= 0; --axis) {
    const std::size_t position = index % static_cast<std::size_t>(full[axis]);
    index /= static_cast<std::size_t>(full[axis]);
    const int own = axis - (full.rank() - shape.rank());
    if (own < 0) continue;
    if (shape[own] != 1) at += position * step;
    step *= static_cast<std::size_t>(shape[own]);
  }
  return at;
}

TEST_P(Binary, BroadcastsAsNumPyAndSumsGradientsOverBroadcastAxes) {
  const BinaryCase& c = GetParam();
  struct Shapes {
    Shape a, b, y;
  };
  for (const auto& [a, b, y] :
       {Shapes{{}, {}, {}}, Shapes{{4, 5}, {4, 5}, {4, 5}}, Shapes{{4, 5}, {}, {4, 5}}, Shapes{{1}, {3, 5}, {3, 5}},
        Shapes{{2, 3, 5}, {5}, {2, 3, 5}}, Shapes{{2, 3, 5}, {2, 1, 5}, {2, 3, 5}},
        Shapes{{2, 3, 1}, {1, 3, 7}, {2, 3, 7}}, Shapes{{5, 1}, {1, 6}, {5, 6}}, Shapes{{3}, {1, 1, 3}, {1, 1, 3}},
        Shapes{{0, 3}, {3}, {0, 3}}, Shapes{{4, 0}, {4, 1}, {4, 0}}}) {
    const Reference reference = [&, a = a, b = b, y = y](const auto& in) {
      std::vector<double> out(static_cast<std::size_t>(y.elements()));
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = c.reference(in[0][source_index(a, y, i)], in[1][source_index(b, y, i)]);
      return out;
    };
    const Op op = [&](std::span<const Tensor> in) { return c.op(in[0], in[1]); };
    const Tensor left = random_tensor(a, 1, -1, 1);
    const Tensor right = random_tensor(b, 2, 0.5, 1.5);
    const GradientCheck check{.length = std::max<std::int64_t>(1, y.elements())};
    check_gradients(op, reference, {left, right}, check);
    if (a.rank() > 0 && b.rank() > 0)
      check_gradients(op, reference, {strided_copy(left, 0), strided_copy(right)}, check);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Binary,
                         ::testing::Values(BinaryCase{"add", add, [](double a, double b) { return a + b; }},
                                           BinaryCase{"subtract", subtract, [](double a, double b) { return a - b; }},
                                           BinaryCase{"multiply", multiply, [](double a, double b) { return a * b; }},
                                           BinaryCase{"divide", divide, [](double a, double b) { return a / b; }}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Binary, LargeOperandsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor a = random_tensor({300, 1000}, 1);
  const Tensor b = random_tensor({300, 1}, 2);
  const auto compute = [&](int threads) {
    const ComputeThreadsScope scope(threads);
    return tanh(a * b + exp(a) / 3.0);
  };
  expect_same_bits(compute(1), compute(3));
}

TEST(Binary, ErrorsNameTheShapes) {
  EXPECT_EQ(error_of<InvalidArgument>([] {
              add(Tensor::zeros({2, 3}), Tensor::zeros({4}));
            }),
            "add: shapes (2, 3) and (4) do not broadcast");
  EXPECT_THAT(error_of<InvalidArgument>([] { multiply(Tensor::zeros({2}, DType::i32), Tensor::zeros({2})); }),
              ::testing::HasSubstr("multiply takes f32 or bf16, got i32 (2)"));
  EXPECT_THAT(error_of<InvalidArgument>([] { relu(Tensor()); }), ::testing::HasSubstr("an undefined tensor"));
}

TEST(Cast, ConvertsBetweenAllTypes) {
  const std::vector<float> values = {0, 1, 2.5F, 200, 3.14159F};
  const Tensor x = Tensor::from(values, {5});
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    const Tensor y = cast(x, dtype);
    EXPECT_EQ(y.dtype(), dtype);
    for (const DType other : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8}) {
      const auto back = cast(y, other).to_vector<double>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto value = static_cast<double>(values[i]);
        const bool fraction = dtype == DType::f32 || dtype == DType::bf16;
        const bool fraction_kept = fraction && (other == DType::f32 || other == DType::bf16);
        const double expected = fraction_kept ? value : std::trunc(value);
        EXPECT_NEAR(back[i], expected, fraction_kept ? value * epsilon_of(DType::bf16) / 2 : 0.0);
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

TEST(AddN, AddsTensorsOfOneShape) {
  const Op op = [](std::span<const Tensor> in) { return add_n(in); };
  const Reference reference = [](const auto& in) {
    std::vector<double> y(in[0].size(), 0);
    for (const auto& part : in)
      for (std::size_t i = 0; i < part.size(); ++i) y[i] += part[i];
    return y;
  };
  for (const Shape& shape : {Shape{}, Shape{3, 5}, Shape{0, 4}}) {
    std::vector<Tensor> parts;
    for (unsigned seed = 1; seed <= 4; ++seed) {
      parts.push_back(random_tensor(shape, seed));
      check_gradients(op, reference, parts, {.length = 4});
    }
    if (shape.rank() > 0) parts[2] = strided_copy(parts[2]);
    check_gradients(op, reference, parts, {.length = 4});
  }
  EXPECT_THAT(error_of<InvalidArgument>([&] { add_n({}); }), ::testing::HasSubstr("at least one tensor"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                add_n(std::array{Tensor::zeros({3}), Tensor::zeros({4})});
              }),
              ::testing::HasSubstr("tensors of one shape and dtype, got f32 (3)"));
}

}  // namespace
}  // namespace lockstep::test
