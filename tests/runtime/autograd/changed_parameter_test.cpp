#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/runtime/autograd/recompute_grad.h>
#include <lockstep/runtime/tensor/parameter.h>

#include "tape_testing.h"

// What tapes do once the value of a parameter that they recorded has changed.

namespace lockstep::test {
namespace {

using testing::ElementsAre;

void change(const Tensor& parameter, float value) {
  parameter.span<float>()[0] = value;
  parameter.parameter()->set_changed();
}

/// Row 0 of a table of one row, which a tape records as a look-up.
Tensor looked_up(const Tensor& table) {
  Tensor y = plain_sum(table, values({0}));
  if (recording({table}))
    record(
        "look_up", {table}, y, [](BackwardContext& context) { contribute(context, 0, context.gradient(0)); },
        Reads::rows);
  return y;
}

TEST(Parameter, IsSharedByTheHandlesToItsCopy) {
  const Tensor w = values({3}).as_parameter("w");
  EXPECT_EQ(w.parameter()->name(), "w");
  const Tensor moved = values({3}).in_place_of(w);
  EXPECT_EQ(moved.parameter(), w.parameter());
  EXPECT_FALSE(w.view({1}).is_parameter());
  EXPECT_EQ(w.view({1}).slice_view(0, 0, 1).broadcast_view({2, 1}).transposed_view().parameter(), w.parameter());
  EXPECT_EQ(values({3}).parameter(), nullptr);
  const std::uint64_t before = Parameter::now();
  EXPECT_FALSE(w.parameter()->changed_since(before));
  values({1}).as_parameter("another").parameter()->set_changed();
  EXPECT_FALSE(w.parameter()->changed_since(before));
  moved.parameter()->set_changed();
  EXPECT_TRUE(w.parameter()->changed_since(before));
  EXPECT_FALSE(w.parameter()->changed_since(Parameter::now()));
}

TEST(Parameter, ThatHasChangedHasNoGradientsThroughItsOldValue) {
  const Tensor w = values({3}).as_parameter("w");
  const Tensor x = values({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(multiply(w, x));
  change(w, 5);
  EXPECT_ERROR(LogicError,
               "the tape recorded multiply on variable 'w', whose value has changed since then: compute the gradients "
               "of all tapes (gradient) before the first update (apply_gradients)",
               (void)tape.gradient(y, std::vector{x}));
  // The tape has stayed usable, for ops on the new value.
  EXPECT_THAT(read(tape.gradient(multiply(square(w), x), std::vector{w})[0]), ElementsAre(2 * 5 * 2));
}

TEST(Parameter, HasNoGradientsThroughOldValuesThatOpsReadAsViews) {
  const Tensor w = values({3}).as_parameter("w");
  const Tensor x = values({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = multiply(w.view({1}), x);
  change(w, 5);
  EXPECT_ERROR(LogicError, "the tape recorded multiply on variable 'w', whose value has changed since then",
               (void)tape.gradient(y, std::vector{x}));
}

TEST(Parameter, TimeOfItsChangeNeverGoesBack) {
  const Tensor w = values({3}).as_parameter("w");
  const std::uint64_t first = Parameter::new_time();
  const std::uint64_t second = Parameter::new_time();
  w.parameter()->set_changed(second);
  w.parameter()->set_changed(first);
  EXPECT_TRUE(w.parameter()->changed_since(first));
}

TEST(Parameter, MayChangeBeforeAndAfterItIsRecorded) {
  const Tensor w = values({3}).as_parameter("w");
  GradientTape tape;
  tape.watch(w);
  change(w, 5);
  const Tensor y = square(w);
  const std::vector<Tensor> gradients = tape.gradient(y, std::vector{w});
  change(w, 7);
  EXPECT_THAT(read(gradients[0]), ElementsAre(10));
}

TEST(Parameter, MayChangeWhereNoGradientReadsIt) {
  const Tensor w = values({3}).as_parameter("w");
  const Tensor other = values({4}).as_parameter("other");
  GradientTape tape;
  const Tensor input = square(w);                // above the source
  const Tensor y = multiply(input, other);       // the source's op
  const Tensor unused = square(multiply(w, y));  // below the target
  change(w, 5);
  EXPECT_THAT(read(tape.gradient(y, std::vector{other})[0]), ElementsAre(9));
  EXPECT_TRUE(unused.defined());
}

TEST(Parameter, MayChangeAfterRowsWereLookedUp) {
  const Tensor table = values({3}).as_parameter("table");
  GradientTape tape;
  const Tensor y = square(looked_up(table));
  change(table, 5);
  EXPECT_THAT(read(tape.gradient(y, std::vector{table})[0]), ElementsAre(6));
}

TEST(Parameter, MustNotChangeBeforeItsReadersAreRecomputed) {
  const Tensor table = values({3}).as_parameter("table");
  const auto function = recompute_grad([&](const Tensor& x) { return multiply(looked_up(table), x); });
  const Tensor x = values({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = function(x);
  change(table, 5);
  EXPECT_ERROR(LogicError, "the tape recorded recompute_grad on variable 'table', whose value has changed",
               (void)tape.gradient(y, std::vector{x}));
}

}  // namespace
}  // namespace lockstep::test
