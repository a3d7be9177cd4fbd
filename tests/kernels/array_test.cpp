#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

const Reference same_elements = [](const auto& x) { return x[0]; };

TEST(Reshape, KeepsTheElementsAndTheirGradients) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  for (const Tensor& in : {x, strided_copy(x), strided_copy(x, 1), random_tensor({0, 3, 4}, 1)}) {
    check_gradients([](std::span<const Tensor> t) { return reshape(t[0], {-1, 6, 2}); }, same_elements, {in});
    check_gradients([](std::span<const Tensor> t) { return flatten(t[0]); }, same_elements, {in});
  }
  EXPECT_EQ(flatten(x).shape(), (Shape{2, 12}));
  EXPECT_EQ(flatten(Tensor::zeros({0, 3, 4})).shape(), (Shape{0, 12}));
}

TEST(Reshape, OfADenseTensorCopiesNothing) {
  const Tensor x = random_tensor({2, 6}, 1);
  EXPECT_EQ(reshape(x, {3, 4}).raw_data(), x.raw_data());
}

TEST(Reshape, OfAStridedGradientMakesItDense) {
  const Tensor x = random_tensor({2, 12}, 1);
  const Tensor other = random_tensor({2, 3, 5}, 2);
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> parts = {other, reshape(x, {2, 3, 4})};  // its gradient is a slice of the whole's
  const Tensor weights = random_tensor({2, 3, 9}, 3);
  const Tensor gradient = tape.gradient(sum(concat(parts, 2) * weights), std::span(&x, 1))[0];
  expect_same_bits(gradient, dense_copy(weights.slice_view(2, 5, 9)).view({2, 12}));
}

TEST(Slice, IsAViewWhoseGradientIsZeroElsewhere) {
  const Tensor x = random_tensor({3, 5, 4}, 1);
  for (int axis = -3; axis < 3; ++axis) {
    const Shape shape = x.shape();
    const int front = shape.normalize_axis(axis);
    const Reference reference = [&](const auto& in) {
      std::vector<double> y;
      for (std::int64_t i = 0; i < shape.elements(); ++i) {
        std::int64_t position = i;
        for (int a = 2; a > front; --a) position /= shape[a];
        position %= shape[front];
        if (position >= 1 && position < 3) y.push_back(in[0][static_cast<std::size_t>(i)]);
      }
      return y;
    };
    const Op op = [axis](std::span<const Tensor> in) { return slice(in[0], axis, 1, 3); };
    check_gradients(op, reference, {x}, {.samples = 60});
    check_gradients(op, reference, {strided_copy(x)}, {.samples = 60});
  }
  EXPECT_EQ(slice(x, 0, 1, 3).raw_data(), x.data<float>() + 20);
  EXPECT_EQ(slice(x, 1, 2, 2).elements(), 0);
}

TEST(Split, IsTheSlicesWithOneGradient) {
  const Tensor x = random_tensor({4, 6, 2}, 1);
  for (const int axis : {0, 1, -1}) {
    const std::int64_t size = x.dim(axis) / 2;
    const std::vector<Tensor> parts = split(x, 2, axis);
    ASSERT_EQ(parts.size(), 2U);
    for (std::int64_t i = 0; i < 2; ++i)
      expect_same_bits(parts[static_cast<std::size_t>(i)], slice(x, axis, i * size, (i + 1) * size));
  }
  const Op swapped = [](std::span<const Tensor> in) {
    const std::vector<Tensor> parts = split(in[0], 3, 1);
    return concat(std::vector{parts[2], parts[0]}, 1);  // nothing depends on the middle one
  };
  check_gradients(swapped,
                  [](const std::vector<std::vector<double>>& in) {
                    std::vector<double> y;
                    for (std::ptrdiff_t row = 0; row < 4; ++row)
                      for (const std::ptrdiff_t part : {2, 0})
                        y.insert(y.end(), in[0].begin() + row * 12 + part * 4, in[0].begin() + row * 12 + part * 4 + 4);
                    return y;
                  },
                  {x});
  EXPECT_ERROR(InvalidArgument, "has no 4 equal parts", split(x, 4, 1));
}

/// Parts of sizes 2, 0, 3 and 1 along `axis`.
std::vector<Tensor> parts_along(int axis) {
  std::vector<Tensor> parts;
  for (const std::int64_t size : {2, 0, 3, 1}) {
    Shape shape{2, 3, 4};
    shape[shape.normalize_axis(axis)] = size;
    parts.push_back(random_tensor(shape, 10 + static_cast<unsigned>(size)));
  }
  return parts;
}

TEST(Concat, MatchesReferenceAndItsDerivative) {
  for (int axis = -3; axis < 3; ++axis) {
    const std::vector<Tensor> parts = parts_along(axis);
    const int front = Shape{2, 3, 4}.normalize_axis(axis);
    std::int64_t outer = 1;
    for (int a = 0; a < front; ++a) outer *= parts[0].dim(a);
    const Reference reference = [&](const auto& in) {
      std::vector<double> y;
      for (std::int64_t o = 0; o < outer; ++o) {
        for (const auto& part : in) {
          const auto length = static_cast<std::ptrdiff_t>(part.size()) / outer;
          y.insert(y.end(), part.begin() + o * length, part.begin() + (o + 1) * length);
        }
      }
      return y;
    };
    const Op op = [axis](std::span<const Tensor> in) { return concat(in, axis); };
    check_gradients(op, reference, parts);
    std::vector<Tensor> strided;
    for (const Tensor& part : parts) strided.push_back(strided_copy(part, 1));
    check_gradients(op, reference, strided);
  }
}

TEST(Concat, OfSlicesThatLieSideBySideCopiesNothing) {
  const Tensor whole = random_tensor({2, 3, 6}, 1);
  const std::vector<Tensor> parts = {whole.slice_view(2, 0, 2), whole.slice_view(2, 2, 6)};
  GradientTape tape;
  for (const Tensor& part : parts) tape.watch(part);
  const Tensor y = concat(parts, 2);
  EXPECT_EQ(y.raw_data(), whole.raw_data());
  expect_same_bits(y, whole);
  const Tensor weights = random_tensor({2, 3, 6}, 2);
  const auto gradients = tape.gradient(sum(y * weights), parts);
  expect_same_bits(gradients[0], weights.slice_view(2, 0, 2));
  expect_same_bits(gradients[1], weights.slice_view(2, 2, 6));
}

TEST(Concat, JoinsOtherTypesToo) {
  const std::vector<Tensor> parts = {Tensor::from<std::int64_t>({1, 2}, {2}), Tensor::from<std::int64_t>({3}, {1})};
  EXPECT_THAT(concat(parts, 0).to_vector<int>(), ::testing::ElementsAre(1, 2, 3));
}

TEST(DenseCopy, ReturnsDenseTensorsThemselves) {
  const Tensor x = random_tensor({3, 4}, 1);
  EXPECT_EQ(dense_copy(x).id(), x.id());
  EXPECT_TRUE(dense_copy(strided_copy(x)).is_dense());
  check_gradients([](std::span<const Tensor> in) { return dense_copy(in[0]); }, same_elements, {strided_copy(x)});
}

TEST(Array, ErrorsNameTheShapes) {
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_THAT(error_of<InvalidArgument>([&] { reshape(x, {4, 2}); }), HasSubstr("(4, 2)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { slice(x, 1, 2, 4); }), HasSubstr("slice [2, 4) is outside axis 1"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                concat(std::vector{x, Tensor::zeros({3, 3})}, 1);
              }),
              HasSubstr("concat along axis 1 of f32 (2, 3) on CPU:0 and f32 (3, 3) on CPU:0"));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                concat(std::vector{x, Tensor::zeros({2, 3}, DType::i32)}, 0);
              }),
              HasSubstr("rank or dtype differ"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { concat({}, 0); }), HasSubstr("at least one tensor"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { flatten(Tensor::zeros({})); }), HasSubstr("at least one axis"));
}

TEST(ZeroPad2d, SurroundsImages) {
  const Shape shape{2, 3, 4, 5};
  const Borders2d borders(1, 2, 0, 3);
  const auto reference = [&](const std::vector<std::vector<double>>& in) {
    std::vector<double> y(2 * 6 * 7 * 5, 0);
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      const std::size_t channel = i % 5, column = i / 5 % 4, row = i / 20 % 3, image = i / 60;
      y[((image * 6 + row + 1) * 7 + column) * 5 + channel] = in[0][i];
    }
    return y;
  };
  const Tensor x = random_tensor(shape, 1);
  const auto op = [&](std::span<const Tensor> in) { return zero_pad2d(in[0], borders); };
  check_gradients(op, reference, {x});
  check_gradients(op, reference, {strided_copy(x)});
  EXPECT_EQ(zero_pad2d(Tensor::zeros({0, 3, 4, 5}), borders).shape(), Shape({0, 6, 7, 5}));
  expect_same_bits(zero_pad2d(x, {}), x);
  EXPECT_ERROR(InvalidArgument, "borders of at least 0, got -1, 0, 0 and 0", zero_pad2d(x, {-1, 0, 0, 0}));
  EXPECT_ERROR(InvalidArgument, "x must be f32 or bf16 (n, height, width, channels), got f32 (5)",
               zero_pad2d(Tensor::zeros({5}), borders));
}

}  // namespace
}  // namespace lockstep::test
