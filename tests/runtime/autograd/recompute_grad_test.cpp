#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/runtime/autograd/recompute_grad.h>
#include <lockstep/runtime/autograd/repeated_values.h>

#include "tape_testing.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

/// x^2. Its gradient keeps `token`, and is logged as `name`.
Tensor logged_square(const Tensor& x, const char* name, std::vector<std::string>& log,
                     const std::shared_ptr<int>& token) {
  Tensor y = plain_product(x, x);
  if (recording({x}))
    record("logged_square", {x}, y, [x, name, token, &log](BackwardContext& context) {
      log.emplace_back(name);
      contribute(context, 0, plain_product(plain_sum(x, x), context.gradient(0)));
    });
  return y;
}

TEST(RecomputeGrad, KeepsOnlyTheInputsOfOneFunctionAtATime) {
  const Tensor x = values({2});
  const auto token = std::make_shared<int>(0);
  std::vector<std::string> log;
  std::vector<long> kept;
  const auto to_the_fourth = recompute_grad([&](const Tensor& input) {
    const Tensor y = logged_square(logged_square(input, "first", log, token), "second", log, token);
    kept.push_back(token.use_count() - 1);
    return y;
  });
  GradientTape tape;
  tape.watch(x);
  const Tensor y = to_the_fourth(to_the_fourth(x));
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_THAT(read(y), ElementsAre(65536));
  EXPECT_THAT(read(tape.gradient(y, std::array{x})[0]), ElementsAre(16 * 32768));
  EXPECT_THAT(log, ElementsAre("second", "first", "second", "first"));
  EXPECT_THAT(kept, ElementsAre(0, 0, 2, 2)) << "the second function is called again, then the first one";
}

/// d/d(x, weight) of a function that reads a parameter and a watched tensor in two places each, and their order.
template <class Around>
std::vector<std::string> gradients_of_two_uses(const Around& around) {
  const Tensor x = values({3, -1});
  const Tensor weight = values({0.1F, 7}).as_parameter();
  std::vector<std::string> log;
  GradientTape tape;
  tape.watch(x);
  const Tensor outside = multiply(square(weight), x);
  const auto function = around([&](const Tensor& input) {
    const Tensor product = logged_square(multiply(input, weight), "product", log, nullptr);
    return multiply(logged_square(product, "square", log, nullptr), multiply(weight, x));
  });
  const Tensor inside = function(outside);
  const Tensor target = multiply(multiply(inside, outside), weight);
  const Tensor destination = Tensor::zeros({2});
  const std::vector<GradientTape::Slot> slots{
      {.source = x}, {.source = weight, .destination = destination}, {.source = inside}, {.source = values({1, 2})}};
  tape.backward(target, slots, [&](int slot, const DenseOrSparse& gradient) {
    const Tensor dense = std::get<Tensor>(gradient);
    log.push_back(std::to_string(slot));
    for (const float value : dense.defined() ? read(dense) : std::vector<float>())
      log.back() += " " + std::to_string(value);
  });
  return log;
}

TEST(RecomputeGrad, GivesTheSameGradientsAsSoonAsWithoutIt) {
  const std::vector<std::string> expected = gradients_of_two_uses([](const auto& function) { return function; });
  EXPECT_EQ(expected.size(), 6);
  EXPECT_EQ(gradients_of_two_uses([](const auto& function) { return recompute_grad(function); }), expected);
  const auto twice = [](const auto& function) {
    return recompute_grad([inner = recompute_grad(function)](const Tensor& input) { return inner(input); });
  };
  EXPECT_EQ(gradients_of_two_uses(twice), expected);
}

TEST(RecomputeGrad, ReachesTensorsThatLeaveTheFunctionOnTheSide) {
  const Tensor x = values({3});
  std::vector<Tensor> seen;
  const auto function = recompute_grad([&](const Tensor& input) {
    seen.push_back(square(input));
    return std::vector<Tensor>{input, square(seen.back())};
  });
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> results = function(x);
  const Tensor target = multiply(multiply(results[1], results[0]), seen[0]);  // x^7
  const std::vector<Tensor> gradients = tape.gradient(target, std::vector{x, seen[0]});
  EXPECT_THAT(read(gradients[0]), ElementsAre(7 * 729));
  EXPECT_THAT(read(gradients[1]), ElementsAre(3 * 81 + 2 * 9 * 3 * 9));  // s^2 x s by s
}

TEST(RecomputeGrad, CallsTheFunctionOnceWhereNoGradientNeedsIt) {
  const Tensor x = values({3});
  int calls = 0;
  const auto function = recompute_grad([&](const Tensor& input) {
    ++calls;
    return square(input);
  });
  function(x);
  EXPECT_EQ(calls, 1) << "no tape";
  GradientTape tape;
  tape.watch(x);
  {
    const NoGradientScope not_recorded;
    function(x);
  }
  function(values({1}));  // not watched
  function(x);            // the target does not depend on it
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(read(tape.gradient(multiply(function(x), x), std::array{x})[0]), ElementsAre(27));
  EXPECT_EQ(calls, 6);
}

TEST(RecomputeGrad, IgnoresTensorsThatTheFirstCallDidNotTrack) {
  const Tensor x = values({3});
  const Tensor c = values({2});
  const Tensor d = values({5});
  const auto function = recompute_grad([&](const Tensor& input) { return multiply(multiply(input, square(c)), d); });
  const auto y_on = [&](GradientTape& tape) {
    tape.watch(x);
    const Tensor y = function(x);
    tape.watch(d);  // too late, as without recompute_grad
    return y;
  };
  {
    GradientTape tape;
    const Tensor y = y_on(tape);
    const std::vector<Tensor> gradients = tape.gradient(y, std::vector{x, c, d});
    EXPECT_THAT(read(gradients[0]), ElementsAre(4 * 5));
    EXPECT_FALSE(gradients[1].defined());
    EXPECT_FALSE(gradients[2].defined());
  }
  GradientTape tape;
  const Tensor y = y_on(tape);
  const std::vector<GradientTape::Slot> slots{{.source = c, .destination = values({-1})},
                                              {.source = d, .destination = values({-1})}};
  int reports = 0;
  tape.backward(y, slots, [&](int, const DenseOrSparse& gradient) { reports += is_defined(gradient) ? 100 : 1; });
  EXPECT_EQ(reports, 2);
  for (const GradientTape::Slot& slot : slots) EXPECT_THAT(read(slot.destination), ElementsAre(-1));
}

TEST(RecomputeGrad, MayEndAnotherTapeWhenItIsCalledAgain) {
  const Tensor x = values({3});
  auto other = std::make_unique<GradientTape>();
  other->watch(values({1}));
  int calls = 0;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad([&](const Tensor& input) {
    if (++calls == 2) other.reset();
    return square(input);
  })(x);
  EXPECT_THAT(read(tape.gradient(y, std::array{x})[0]), ElementsAre(6));
  EXPECT_FALSE(other);
  EXPECT_FALSE(recording({x}));
}

TEST(RecomputeGrad, IsRecordedByEveryTape) {
  const Tensor x = values({3});
  const auto function = recompute_grad([](const Tensor& input) { return square(input); });
  GradientTape outer;
  outer.watch(x);
  Tensor y;
  {
    GradientTape inner;
    inner.watch(x);
    y = function(x);
    EXPECT_THAT(read(inner.gradient(y, std::array{x})[0]), ElementsAre(6));
  }
  EXPECT_THAT(read(outer.gradient(function(y), std::array{x})[0]), ElementsAre(108));
}

TEST(RecomputeGrad, RefusesAFunctionThatRunsOtherOps) {
  const Tensor x = values({3});
  int calls = 0;
  const auto gradient_of = [&](const auto& function) {
    calls = 0;
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(recompute_grad(function)(x), std::array{x});
  };
  EXPECT_ERROR(LogicError,
               "a function of recompute_grad ran square in its first call and multiply when it was called again: it "
               "must run the same ops each time",
               gradient_of([&](const Tensor& input) { return calls++ == 0 ? square(input) : multiply(input, x); }));
  EXPECT_ERROR(LogicError, "ran no further op in its first call and square when it was called again",
               gradient_of([&](const Tensor& input) { return calls++ == 0 ? square(input) : square(square(input)); }));
  EXPECT_ERROR(LogicError, "did not run square when it was called again, as in its first call",
               gradient_of([&](const Tensor& input) { return calls++ == 0 ? square(square(input)) : square(input); }));
  EXPECT_ERROR(LogicError, "drew 0 random numbers or states in its first call and more when it was called again",
               gradient_of([&](const Tensor& input) {
                 if (calls++ == 1) repeated([] { return 1; });
                 return square(input);
               }));
  EXPECT_FALSE(recording({x})) << "the tapes have ended";
  EXPECT_FALSE(is_recomputing());
}

TEST(RecomputeGrad, RefusesTheUseOfATapeThatRecordsIt) {
  const Tensor x = values({3});
  GradientTape tape;
  tape.watch(x);
  EXPECT_ERROR(LogicError, "a function of recompute_grad uses a tape that records it: use the tape outside of it",
               recompute_grad([&](const Tensor& input) { return tape.gradient(square(input), std::array{x}); })(x));
  EXPECT_THAT(read(tape.gradient(square(x), std::array{x})[0]), ElementsAre(6)) << "the tape has stayed usable";
}

TEST(RecomputeGrad, RepeatsValuesOfTheFirstCall) {
  const Tensor x = values({3});
  float next = 0;
  std::vector<float> used;
  std::vector<bool> again;
  const auto draw = [&] { return repeated([&] { return ++next; }); };
  const auto scale = [&](const Tensor& input, float factor) {
    used.push_back(factor);
    again.push_back(is_recomputing());
    return multiply(input, values({factor}));
  };
  const auto inner = recompute_grad([&](const Tensor& input) { return scale(input, draw()); });
  const auto outer = recompute_grad([&](const Tensor& input) {
    const float before = repeated(draw);  // repeated values inside repeated values
    const Tensor scaled = inner(scale(input, before));
    return scale(scaled, draw());
  });
  GradientTape tape;
  tape.watch(x);
  const Tensor y = outer(x);
  EXPECT_EQ(draw(), 4);
  EXPECT_THAT(read(tape.gradient(y, std::array{x})[0]), ElementsAre(1 * 2 * 3));
  EXPECT_THAT(used, ElementsAre(1, 2, 3, 1, 2, 3, 2));
  EXPECT_THAT(again, ElementsAre(false, false, false, true, true, true, true));
  EXPECT_EQ(draw(), 5);
}

TEST(RecomputeGrad, RepeatsValuesThatAreDrawnLater) {
  const Tensor x = values({3});
  float next = 0;
  std::vector<std::function<float()>> draws;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad([&](const Tensor& input) {
    draws.push_back(repeated_function(std::function<float()>([&] { return ++next; })));
    return square(input);
  })(x);
  (void)tape.gradient(y, std::array{x});
  ASSERT_EQ(draws.size(), 2);
  for (const float launch : {1.0F, 2.0F}) {  // as launches of captured work do
    EXPECT_EQ(draws[0](), launch);
    EXPECT_EQ(draws[1](), launch);
  }
}

}  // namespace
}  // namespace lockstep::test
