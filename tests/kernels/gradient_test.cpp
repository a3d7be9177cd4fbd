#include <array>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/reduction.h>

// How ops and the tape accumulate gradients.

namespace lockstep::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Tensor gradient_of(GradientTape& tape, const Tensor& target, const Tensor& source) {
  return tape.gradient(target, std::span(&source, 1))[0];
}

TEST(Gradient, OfATensorUsedTwiceIsTheSum) {
  const Tensor a = random_tensor({3, 4}, 1);
  GradientTape tape;
  tape.watch(a);
  const Tensor y = a * a + a * 3.0;
  const auto values = a.to_vector<double>();
  std::vector<double> expected;
  for (const double value : values) expected.push_back(2 * value + 3);
  expect_close(gradient_of(tape, sum(y), a), expected);
}

TEST(Gradient, PassedOnTwiceIsNotAddedToItself) {
  const Tensor a = random_tensor({5}, 1);
  GradientTape tape;
  tape.watch(a);
  const Tensor y = a + a;  // contributes the same gradient twice
  const Tensor z = y + a;  // contributes it also to y, which must not see the accumulation in a
  const std::vector<Tensor> sources = {a, y};
  const auto gradients = tape.gradient(sum(z + y), sources);
  EXPECT_THAT(gradients[0].to_vector<float>(), Each(5.0F));
  EXPECT_THAT(gradients[1].to_vector<float>(), Each(2.0F));
}

TEST(Gradient, OfManyUsesLeavesOtherGradientsAlone) {
  const Tensor a = random_tensor({4}, 1);
  const Tensor b = random_tensor({4}, 2);
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const Tensor y = a + b;  // both receive y's own gradient
  const Tensor z = y + a * 2.0 + a * a;
  const std::vector<Tensor> sources = {a, b, y};
  const auto gradients = tape.gradient(sum(z), sources);
  std::vector<double> expected;
  for (const double value : a.to_vector<double>()) expected.push_back(3 + 2 * value);
  expect_close(gradients[0], expected);
  EXPECT_THAT(gradients[1].to_vector<float>(), Each(1.0F));
  EXPECT_THAT(gradients[2].to_vector<float>(), Each(1.0F));
}

TEST(Gradient, GoesToTheBoundDestination) {
  const Tensor a = random_tensor({2, 3}, 1);  // receives one computed and one passed-on contribution
  const Tensor b = random_tensor({2, 3}, 2);  // receives passed-on contributions only
  const Tensor c = random_tensor({3}, 3);     // broadcast
  const Tensor arena = Tensor::full({15}, 77);
  const std::vector<GradientTape::Slot> slots = {{a, arena.slice_view(0, 0, 6).view({2, 3})},
                                                 {b, arena.slice_view(0, 6, 12).view({2, 3})},
                                                 {c, arena.slice_view(0, 12, 15)}};
  for (const bool pass_on_first : {false, true}) {
    GradientTape tape;
    for (const auto& slot : slots) tape.watch(slot.source);
    const Tensor y = pass_on_first ? (a * 2.0) + (a + b + c) : (a + b + c) + (a * 2.0);
    tape.backward(sum(y), slots, [](int, const DenseOrSparse&) {});
    EXPECT_THAT(arena.to_vector<float>(), ElementsAre(3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 2, 2, 2));
  }
}

TEST(Gradient, PassedOnStridedFillsADenseDestination) {
  const Tensor a = random_tensor({2, 3}, 1);
  const Tensor b = random_tensor({2, 2}, 2);
  const Tensor destination = Tensor::zeros({2, 2});
  const Tensor weights = random_tensor({2, 5}, 3);
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const std::vector<Tensor> parts = {a, b};
  const std::vector<GradientTape::Slot> slots = {{b, destination}};
  tape.backward(sum(concatenate(parts, 1) * weights), slots, [](int, const DenseOrSparse&) {});
  expect_same_bits(destination, weights.slice_view(1, 3, 5));
}

TEST(Gradient, IsReportedFinalWhenItsFirstUserHasRun) {
  const Tensor a = random_tensor({3}, 1);
  const Tensor b = random_tensor({3}, 2);
  const Tensor c = random_tensor({3}, 3);
  const Tensor unused = random_tensor({3}, 4);
  GradientTape tape;
  for (const Tensor& source : {a, b, c, unused}) tape.watch(source);
  const Tensor y = ((a * 2.0) * b) * c * b;  // b is used twice: its gradient is final only after its earlier use
  const std::vector<GradientTape::Slot> slots = {{a, {}}, {b, {}}, {c, {}}, {unused, {}}};
  std::vector<std::pair<int, bool>> reported;
  tape.backward(sum(y), slots,
                [&](int slot, const DenseOrSparse& gradient) { reported.emplace_back(slot, is_defined(gradient)); });
  EXPECT_THAT(reported, ElementsAre(std::pair(3, false), std::pair(2, true), std::pair(1, true), std::pair(0, true)));
}

TEST(Gradient, ReportsSourcesThatTheTargetDoesNotDependOn) {
  const Tensor a = random_tensor({3}, 1);
  const Tensor b = random_tensor({3}, 2);
  const Tensor destination = Tensor::full({3}, 77);
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const Tensor unread = b * 2.0;  // recorded, but not used by the target
  const std::vector<GradientTape::Slot> slots = {{a, {}}, {b, destination}};
  std::vector<std::pair<int, bool>> reported;
  tape.backward(sum(a * 1.0), slots,
                [&](int slot, const DenseOrSparse& gradient) { reported.emplace_back(slot, is_defined(gradient)); });
  EXPECT_THAT(reported, ::testing::UnorderedElementsAre(std::pair(0, true), std::pair(1, false)));
  EXPECT_THAT(destination.to_vector<float>(), Each(77.0F));
}

TEST(Gradient, IsComputedForWantedInputsOnly) {
  const Tensor a = random_tensor({3}, 1);
  const Tensor b = random_tensor({3}, 2);
  GradientTape tape;
  tape.watch(a);
  int computed = 0;
  const Tensor y = a * 1.0;
  record("probe", {a, b}, y, [&](BackwardContext& c) {
    const auto compute = [&](const Tensor& out) {
      ++computed;
      launch(kernels::Fill{out, 1});
    };
    contribute(c, 0, {3}, compute);
    contribute(c, 1, {3}, compute);
    pass_on(c, 1, b);
  });
  gradient_of(tape, sum(y), a);
  EXPECT_EQ(computed, 1);
}

void add_three_times(const Tensor& x, const Tensor& out) {
  for (int i = 0; i < 3; ++i) launch(kernels::Binary{BinaryOp::add, out, x, out});
}

/// 3 x, as an op that can add its gradient to an existing one; appends the requested kinds of writing to `writes`.
Tensor three_times(const Tensor& x, std::vector<Write>& writes) {
  const Tensor result = Tensor::zeros(x.shape());
  add_three_times(x, result);
  record("three_times", {x}, result, [&writes](BackwardContext& c) {
    contribute_or_add(c, 0, c.gradient(0).shape(), [&](Write write, const Tensor& out) {
      writes.push_back(write);
      if (write == Write::replace) launch(kernels::Fill{out, 0});
      add_three_times(c.gradient(0), out);
    });
  });
  return result;
}

TEST(Gradient, IsAddedByTheOpToWhatOthersContributed) {
  const Tensor a = random_tensor({4}, 1);
  GradientTape tape;
  tape.watch(a);
  std::vector<Write> writes;
  const Tensor y = three_times(a, writes) + three_times(a, writes);
  EXPECT_THAT(gradient_of(tape, sum(y), a).to_vector<float>(), Each(6.0F));
  EXPECT_THAT(writes, ElementsAre(Write::replace, Write::add));
}

TEST(Gradient, IsNotAddedToWhatOthersRead) {
  const Tensor a = random_tensor({4}, 1);
  GradientTape tape;
  tape.watch(a);
  std::vector<Write> writes;
  const Tensor y = three_times(a, writes);
  const Tensor z = y + a;  // y and a receive z's own gradient
  const std::vector<Tensor> sources = {a, y};
  const auto gradients = tape.gradient(sum(z), sources);
  EXPECT_THAT(gradients[0].to_vector<float>(), Each(4.0F));
  EXPECT_THAT(gradients[1].to_vector<float>(), Each(1.0F));
  EXPECT_THAT(writes, ElementsAre(Write::replace));
}

/// x^T a x, whose gradient is (a + a^T) x and whose Hessian is a + a^T.
Tensor quadratic(const Tensor& a, const Tensor& x) { return sum(x * matmul(a, x)); }

TEST(SecondGradient, TimesAVectorIsThatOfTheClosedForm) {
  const Tensor a = random_tensor({5, 5}, 1);
  const Tensor x = random_tensor({5}, 2);
  const Tensor direction = random_tensor({5}, 3);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor gradient = gradient_of(inner, quadratic(a, x), x);
  const Tensor product = outer.gradient(gradient, std::span(&x, 1), direction)[0];
  expect_close(product, matmul(a + transpose(a), direction).to_vector<double>(), 10);
}

TEST(SecondGradient, IsFollowedByAThird) {
  const Tensor x = random_tensor({6}, 1, 0.5, 2);
  std::array<GradientTape, 3> tapes;
  for (GradientTape& tape : tapes) tape.watch(x);
  Tensor y = sum(square(square(x)));
  for (GradientTape& tape : tapes) y = gradient_of(tape, y, x);
  std::vector<double> expected;
  for (const double value : x.to_vector<double>()) expected.push_back(24 * value);
  expect_close(y, expected, 20);
}

TEST(SecondGradient, OfATensorUsedTwiceIsTheSum) {
  const Tensor x = random_tensor({4}, 1);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor gradient = gradient_of(inner, sum(square(x) + square(x) * x), x);
  std::vector<double> expected;
  for (const double value : x.to_vector<double>()) expected.push_back(2 + 6 * value);
  expect_close(gradient_of(outer, gradient, x), expected, 4);
}

TEST(SecondGradient, IsRecordedByTapesThatTrackTheTargetOnly) {
  const Tensor x = random_tensor({4}, 1).as_parameter();
  GradientTape outer;
  const Tensor y = square(x);
  {
    GradientTape tape;
    const std::vector<GradientTape::Slot> slots = {{x, {}}};
    Tensor gradient;
    tape.backward(square(x), slots, [&](int, const DenseOrSparse& dx) { gradient = std::get<Tensor>(dx); });
    EXPECT_FALSE(recording({gradient})) << "backward is for steps that change variables";
  }
  GradientTape tape;
  EXPECT_TRUE(recording({gradient_of(tape, square(x), x)}));
  gradient_of(outer, y, x);
  EXPECT_FALSE(recording({x})) << "a tape that has given its gradients has ended";
}

TEST(SecondGradient, OfRowsOfATableIsDense) {
  const Tensor table = random_tensor({4, 2}, 1).as_parameter();
  const Tensor ids = Tensor::from<std::int64_t>({2, 0, 2}, {3});
  GradientTape outer;
  GradientTape inner;
  const Tensor y = sum(square(embedding_lookup(table, ids)));
  const DenseOrSparse gradient = inner.gradient_or_slices(y, std::span(&table, 1))[0];
  const Tensor second = gradient_of(outer, sum(square(std::get<Tensor>(gradient))), table);
  std::vector<double> expected;  // of (2 n x)^2 for a row that is looked up n times
  for (std::size_t i = 0; const double value : table.to_vector<double>()) {
    const double times = i / 2 == 2 ? 2 : i / 2 == 0 ? 1 : 0;
    expected.push_back(8 * times * times * value);
    ++i;
  }
  expect_close(second, expected, 4);
}

/// Ops whose gradients kernels compute: these have no gradients.
class GradientByKernels : public testing::Test {
 protected:
  GradientByKernels() {
    outer_.watch(a_);
    inner_.watch(a_);
  }

  std::vector<Write> writes_;
  Tensor a_ = random_tensor({4}, 1);
  GradientTape outer_;
  GradientTape inner_;
};

TEST_F(GradientByKernels, IsRefusedWhereItsGradientIsNeeded) {
  const Tensor y = square(three_times(square(a_), writes_));
  const Tensor gradient = gradient_of(inner_, y, a_);
  EXPECT_EQ(error_of<Unsupported>([&] { gradient_of(outer_, sum(gradient), a_); }),
            "gradient of three_times: this gradient is not differentiable itself; compute it with ops (contribute_ops "
            "in gradient.h)");
}

TEST_F(GradientByKernels, IsRefusedAfterContributionsThatHaveOne) {
  const Tensor y = three_times(a_, writes_) + square(a_) + three_times(a_, writes_);
  const Tensor gradient = gradient_of(inner_, y, a_);
  expect_close(gradient, (a_ * 2.0 + 6.0).to_vector<double>(), 4);
  EXPECT_THROW(gradient_of(outer_, sum(gradient), a_), Unsupported);
}

TEST_F(GradientByKernels, IsComputedWhileAnotherTapeRecordsTheSame) {
  const Tensor y = square(three_times(a_, writes_));
  const Tensor first = gradient_of(inner_, y, a_);
  expect_close(first, (a_ * 18.0).to_vector<double>(), 4);
  expect_same_bits(gradient_of(outer_, y, a_), first);
}

TEST(Gradient, ErrorsNameTheOp) {
  const Tensor a = random_tensor({3}, 1);
  GradientTape tape;
  tape.watch(a);
  const Tensor y = a * 1.0;
  record("probe", {a}, y, [](BackwardContext&) { fail("no luck"); });
  EXPECT_EQ(error_of<InvalidArgument>([&] { gradient_of(tape, sum(y), a); }), "gradient of probe: no luck");
}

}  // namespace
}  // namespace lockstep::test
