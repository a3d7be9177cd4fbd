#include <cmath>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

std::vector<double> reference_softmax(const std::vector<double>& x, std::size_t n) {
  std::vector<double> y;
  for (std::size_t row = 0; row * n < x.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[row * n + i]);
    for (std::size_t i = 0; i < n; ++i) y.push_back(std::exp(x[row * n + i]) / sum);
  }
  return y;
}

Tensor random_labels(std::int64_t rows, std::int64_t classes, DType dtype) {
  return cast(random_tensor({rows}, 3, 0, static_cast<double>(classes) - 1e-3), dtype);
}

TEST(Softmax, MatchesReferenceAndItsDerivative) {
  const Op op = [](std::span<const Tensor> in) { return softmax(in[0]); };
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{5, 10}, Shape{2, 3, 33}, Shape{0, 4}}) {
    const auto n = shape.dim(-1);
    const Reference reference = [n](const auto& in) { return reference_softmax(in[0], static_cast<std::size_t>(n)); };
    const Tensor x = random_tensor(shape, 1, -4, 4);
    check_gradients(op, reference, {x}, {.length = n, .magnitude = 1});
    if (shape.rank() > 1) check_gradients(op, reference, {strided_copy(x)}, {.length = n, .magnitude = 1});
  }
}

TEST(Softmax, OfLargeLogitsDoesNotOverflow) {
  EXPECT_THAT(softmax(Tensor::from<float>({1000, 1000, -1000}, {3})).to_vector<float>(),
              ::testing::ElementsAre(0.5F, 0.5F, 0.0F));
}

TEST(SparseSoftmaxCrossEntropy, MatchesReferenceAndItsDerivative) {
  for (const auto& [rows, classes] :
       {std::pair{1, 1}, std::pair{1, 2}, std::pair{9, 10}, std::pair{33, 101}, std::pair{0, 4}}) {
    for (const DType dtype : {DType::i32, DType::i64, DType::u8}) {
      const Tensor labels = random_labels(rows, classes, dtype);
      const auto label = labels.to_vector<std::size_t>();
      const Reference reference = [&, n = static_cast<std::size_t>(classes)](const auto& in) {
        const auto p = reference_softmax(in[0], n);
        std::vector<double> loss;
        for (std::size_t row = 0; row < label.size(); ++row) loss.push_back(-std::log(p[row * n + label[row]]));
        return loss;
      };
      const Tensor logits = random_tensor({rows, classes}, 1, -4, 4);
      const Op op = [&](std::span<const Tensor> in) { return sparse_softmax_cross_entropy(in[0], labels); };
      const Op column = [&](std::span<const Tensor> in) {
        return sparse_softmax_cross_entropy(in[0], labels.view({labels.dim(0), 1}));
      };
      const GradientCheck check{.length = classes, .magnitude = 4};
      check_gradients(op, reference, {logits}, check);
      check_gradients(column, reference, {strided_copy(logits)}, check);
    }
  }
}

TEST(SparseSoftmaxCrossEntropy, OfLargeLogitsDoesNotOverflow) {
  const Tensor logits = Tensor::from<float>({2000, 0, 0, 2000}, {2, 2});
  const Tensor labels = Tensor::from<std::int32_t>({0, 0}, {2});
  EXPECT_THAT(sparse_softmax_cross_entropy(logits, labels).to_vector<float>(), ::testing::ElementsAre(0, 2000));
}

TEST(SparseSoftmaxCrossEntropy, SameBitsOnAnyNumberOfThreads) {
  const Tensor logits = random_tensor({5000, 10}, 1, -3, 3);
  const Tensor labels = random_labels(5000, 10, DType::i64);
  const auto compute = [&](int threads) {
    const ComputeThreadsScope scope(threads);
    GradientTape tape;
    tape.watch(logits);
    const Tensor loss = sum(sparse_softmax_cross_entropy(logits, labels));
    return std::pair(loss, tape.gradient(loss, std::span(&logits, 1))[0]);
  };
  const auto one = compute(1);
  const auto three = compute(3);
  expect_same_bits(one.first, three.first);
  expect_same_bits(one.second, three.second);
}

TEST(SparseSoftmaxCrossEntropy, ErrorsNameRowAndValue) {
  const Tensor logits = Tensor::zeros({3, 4});
  const auto message = [&](const Tensor& labels) {
    return error_of<InvalidArgument>([&] { sparse_softmax_cross_entropy(logits, labels); });
  };
  EXPECT_EQ(message(Tensor::from<std::int32_t>({0, 4, -1}, {3})), "label 4 in row 1 is outside [0, 4)");
  EXPECT_EQ(message(Tensor::from<std::int64_t>({0, 3, -1}, {3, 1})), "label -1 in row 2 is outside [0, 4)");
  EXPECT_THAT(message(Tensor::zeros({2}, DType::i32)),
              HasSubstr("labels (n) or (n, 1) for logits (n, classes), got i32 (2)"));
  EXPECT_THAT(message(Tensor::zeros({3})), HasSubstr("labels of i32, i64 or u8, got f32"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { sparse_softmax_cross_entropy(Tensor::zeros({3}), logits); }),
              HasSubstr("takes logits (n, classes), got f32 (3)"));
}

TEST(SigmoidCrossEntropy, MatchesReferenceAndItsDerivative) {
  for (const Shape& shape : {Shape{1}, Shape{50}, Shape{9, 3}, Shape{0, 1}}) {
    const Tensor targets = random_tensor(shape, 2, 0, 1);
    const auto t = targets.to_vector<double>();
    const Reference reference = [&](const auto& in) {
      std::vector<double> loss;
      for (std::size_t i = 0; i < t.size(); ++i) {
        const double p = 1 / (1 + std::exp(-in[0][i]));
        loss.push_back(-(t[i] * std::log(p) + (1 - t[i]) * std::log(1 - p)));
      }
      return loss;
    };
    const Op op = [&](std::span<const Tensor> in) { return sigmoid_cross_entropy(in[0], targets); };
    const Tensor x = random_tensor(shape, 1, -5, 5);
    check_gradients(op, reference, {x}, {.magnitude = 5});
    if (shape.rank() > 1) check_gradients(op, reference, {strided_copy(x)}, {.magnitude = 5});
  }
}

TEST(SigmoidCrossEntropy, OfLargeLogitsDoesNotOverflow) {
  const Tensor x = Tensor::from<float>({1000, -1000, 1000, -1000}, {4});
  const Tensor t = Tensor::from<std::uint8_t>({1, 0, 0, 1}, {4});
  EXPECT_THAT(sigmoid_cross_entropy(x, t).to_vector<float>(), ::testing::ElementsAre(0, 0, 1000, 1000));
}

TEST(BinaryCrossEntropy, MatchesReferenceAndItsDerivative) {
  const Tensor targets = cast(random_tensor({40, 1}, 2, 0, 1.999), DType::i32);
  const auto t = targets.to_vector<double>();
  const Reference reference = [&](const auto& in) {
    std::vector<double> loss;
    for (std::size_t i = 0; i < t.size(); ++i)
      loss.push_back(-(t[i] * std::log(in[0][i]) + (1 - t[i]) * std::log(1 - in[0][i])));
    return loss;
  };
  const Op op = [&](std::span<const Tensor> in) { return binary_cross_entropy(in[0], targets); };
  const Tensor p = random_tensor({40, 1}, 1, 0.05, 0.95);
  check_gradients(op, reference, {p}, {.magnitude = 20});
  check_gradients(op, reference, {strided_copy(p)}, {.magnitude = 20});
}

TEST(BinaryCrossEntropy, ClipsProbabilitiesAsKerasDoes) {
  const Tensor p = Tensor::from<float>({0, 1, 0, 1}, {4});
  const Tensor t = Tensor::from<float>({0, 1, 1, 0}, {4});
  GradientTape tape;
  tape.watch(p);
  const Tensor loss = binary_cross_entropy(p, t);
  const auto values = loss.to_vector<double>();
  const double below_one = 1.0 - std::ldexp(1.0, -23);  // 1 - 1e-7 rounded to f32
  EXPECT_NEAR(values[0], 1e-7, tolerance(DType::f32, 1, 1));
  EXPECT_NEAR(values[1], -std::log(below_one), tolerance(DType::f32, 1, 1));
  EXPECT_NEAR(values[2], -std::log(1e-7), tolerance(DType::f32, 1, 17));
  EXPECT_NEAR(values[3], -std::log(1 - below_one), tolerance(DType::f32, 1, 17));
  EXPECT_THAT(tape.gradient(sum(loss), std::span(&p, 1))[0].to_vector<float>(), ::testing::Each(0));
}

TEST(BinaryCrossEntropy, RefusesTargetsOfAnotherShape) {
  EXPECT_THAT(error_of<InvalidArgument>([] {
                binary_cross_entropy(Tensor::zeros({3}), Tensor::zeros({3, 1}));
              }),
              HasSubstr("binary_cross_entropy takes targets of the shape of f32 (3) on CPU:0, got f32 (3, 1)"));
}

}  // namespace
}  // namespace lockstep::test
