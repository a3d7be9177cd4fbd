#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

TEST(Softmax, OfLargeLogitsDoesNotOverflow) {
  EXPECT_THAT(softmax(Tensor::from<float>({1000, 1000, -1000}, {3})).to_vector<float>(),
              ::testing::ElementsAre(0.5F, 0.5F, 0.0F));
}

/// Expects bf16 values that lie no further from the f32 values than the nearest bf16 does.
void expect_rounded_once(const Tensor& narrow, const Tensor& wide) {
  ASSERT_EQ(narrow.dtype(), DType::bf16);
  const std::vector<double> found = narrow.to_vector<double>();
  const std::vector<double> exact = wide.to_vector<double>();
  for (std::size_t i = 0; i < exact.size(); ++i)
    ASSERT_LE(std::abs(found[i] - exact[i]), std::ldexp(std::abs(exact[i]), -8) * (1 + 1e-4) + 1e-30) << i;
}

TEST(CrossEntropy, OfBfloat16IsRoundedOnce) {
  const Tensor x = cast(random_tensor({40, 300}, 1, -6, 6), DType::bf16);
  const Tensor wide = cast(x, DType::f32);
  const Tensor labels = cast(random_tensor({40}, 2, 0, 299), DType::i64);
  const Tensor targets = random_tensor({40, 300}, 3, 0, 1);
  using Op = std::function<Tensor(const Tensor&)>;
  for (const Op& op :
       {Op([](const Tensor& of) { return softmax(of); }), Op([](const Tensor& of) { return log_softmax(of, {0}); }),
        Op([&](const Tensor& of) { return sparse_softmax_cross_entropy(of, labels); }),
        Op([&](const Tensor& of) { return sigmoid_cross_entropy(of, targets); }),
        Op([&](const Tensor& of) { return binary_cross_entropy(of, targets); })})
    expect_rounded_once(op(x), op(wide));
}

// Of the f32 probabilities, not of rounded ones.
TEST(SparseSoftmaxCrossEntropy, ItsGradientOfBfloat16IsRoundedOnce) {
  const Tensor x = cast(random_tensor({40, 300}, 1, -6, 6), DType::bf16);
  const Tensor labels = cast(random_tensor({40}, 2, 0, 299), DType::i64);
  const auto gradient = [&](const Tensor& logits) {
    GradientTape tape;
    tape.watch(logits);
    return tape.gradient(sum(sparse_softmax_cross_entropy(logits, labels)), std::span(&logits, 1)).front();
  };
  expect_rounded_once(gradient(x), gradient(cast(x, DType::f32)));
}

TEST(SparseSoftmaxCrossEntropy, OfLargeLogitsDoesNotOverflow) {
  const Tensor logits = Tensor::from<float>({2000, 0, 0, 2000}, {2, 2});
  const Tensor labels = Tensor::from<std::int32_t>({0, 0}, {2});
  EXPECT_THAT(sparse_softmax_cross_entropy(logits, labels).to_vector<float>(), ::testing::ElementsAre(0, 2000));
}

// bf16 rounds 1001 to 1000.
TEST(SparseSoftmaxCrossEntropy, TakesLabelsInBfloat16NextToTheNumberOfClasses) {
  const Tensor logits = random_tensor({1, 1001}, 1);
  const auto loss = [&](DType dtype) {
    return sparse_softmax_cross_entropy(logits, Tensor::full({1}, 1000, dtype)).to_vector<float>();
  };
  EXPECT_EQ(loss(DType::bf16), loss(DType::i64));
}

TEST(SparseSoftmaxCrossEntropy, ErrorsNameRowAndValue) {
  const Tensor logits = Tensor::zeros({3, 4});
  const auto message = [&](const Tensor& labels) {
    return error_of<InvalidArgument>([&] { sparse_softmax_cross_entropy(logits, labels); });
  };
  EXPECT_EQ(message(Tensor::from<std::int32_t>({0, 4, -1}, {3})), "label 4 in row 1 is outside [0, 4)");
  // bf16 rounds 1003 to 1004.
  EXPECT_THAT(error_of<InvalidArgument>([] {
                sparse_softmax_cross_entropy(Tensor::zeros({1, 1003}), Tensor::full({1}, 1004, DType::bf16));
              }),
              HasSubstr("label 1004 in row 0 is outside [0, 1003)"));
  EXPECT_EQ(message(Tensor::from<std::int64_t>({0, 3, -1}, {3, 1})), "label -1 in row 2 is outside [0, 4)");
  EXPECT_THAT(message(Tensor::zeros({2}, DType::i32)),
              HasSubstr("labels (n) or (n, 1) for logits (n, classes), got i32 (2)"));
  EXPECT_THAT(message(Tensor::zeros({3}, DType::boolean)), HasSubstr("labels of integers or whole numbers, got bool"));
  EXPECT_EQ(message(Tensor::from<float>({0, 4, 1}, {3})), "label 4 in row 1 is outside [0, 4)");
  EXPECT_EQ(message(Tensor::from<float>({0, -1, 1}, {3})), "label -1 in row 1 is outside [0, 4)");
  EXPECT_EQ(message(Tensor::from<float>({0, 1, 1.5F}, {3, 1})), "label 1.5 in row 2 is not a whole number");
  EXPECT_EQ(message(Tensor::from<float>({NAN, 1, 1}, {3})), "label nan in row 0 is not a whole number");
  EXPECT_EQ(message(Tensor::from<float>({0, 0x1p70F, 1}, {3})),
            "label 1.1805916207174113e+21 in row 1 is outside [0, 4)");
  EXPECT_THAT(error_of<InvalidArgument>([&] { sparse_softmax_cross_entropy(Tensor::zeros({3}), logits); }),
              HasSubstr("takes logits (n, classes), got f32 (3)"));
}

TEST(SigmoidCrossEntropy, OfLargeLogitsDoesNotOverflow) {
  const Tensor x = Tensor::from<float>({1000, -1000, 1000, -1000}, {4});
  const Tensor t = Tensor::from<std::uint8_t>({1, 0, 0, 1}, {4});
  EXPECT_THAT(sigmoid_cross_entropy(x, t).to_vector<float>(), ::testing::ElementsAre(0, 0, 1000, 1000));
}

TEST(SigmoidCrossEntropy, SmallGradientsKeepTheirDigits) {
  const Tensor x = Tensor::from<float>({16, -16, 7, -7}, {4});
  const Tensor t = Tensor::from<float>({1, 0, 1, 0}, {4});
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = sigmoid_cross_entropy(x, t);
  const auto dx = tape.gradient(sum(loss), std::span(&x, 1))[0].to_vector<double>();
  for (const std::size_t i : {0, 2}) {
    const double likely = 1 / (1 + std::exp(x.to_vector<double>()[i]));
    EXPECT_NEAR(dx[i], -likely, tolerance(DType::f32, 1, likely)) << i;
    EXPECT_NEAR(dx[i + 1], likely, tolerance(DType::f32, 1, likely)) << i;
  }
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
